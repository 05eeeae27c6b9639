# For a tap: `brew install wetstring/tap/wetstring`. `cargo xtask dist` fills in version and digests.
class Wetstring < Formula
  desc "Moves files over any line: Kermit, XMODEM, YMODEM, ZMODEM and more"
  homepage "https://github.com/wetstring/wetstring"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL@/wetstring-@VERSION@-aarch64-apple-darwin.tar.xz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@URL@/wetstring-@VERSION@-x86_64-apple-darwin.tar.xz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/wetstring-@VERSION@-aarch64-unknown-linux-musl.tar.xz"
      sha256 "@SHA256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@URL@/wetstring-@VERSION@-x86_64-unknown-linux-musl.tar.xz"
      sha256 "@SHA256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "wst"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/wst.bash" => "wst"
    zsh_completion.install "completions/_wst"
    fish_completion.install "completions/wst.fish"
    doc.install "README.md", "licences"
  end

  test do
    assert_match "wst @VERSION@", shell_output("#{bin}/wst --version")
    assert_match "Equal: ", shell_output("#{bin}/wst demo --faster 100000")
  end
end
