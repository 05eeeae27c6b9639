"""Handlers of URLs for pyserial: `import wetstring.urls` registers them."""

import serial

if __name__ not in serial.protocol_handler_packages:
    serial.protocol_handler_packages.append(__name__)
