/**
 * The 256 bytes as the characters that byte-level BPE writes them with (GPT-2): printable Latin-1 stands for itself,
 * the others follow from U+0100 on.
 */
export function byteAlphabet(): string[] {
  let moved = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCharCode(printable ? byte : 256 + moved++);
  });
}
