/** A kind of file that is given by mistake where another one is expected. */
interface OtherKind {
  /** `a gzip file` */
  name: string;
  /** How to make text of it. */
  remedy: string;
}

const BEGINNINGS: readonly (readonly [begins: readonly number[], name: string, remedy: string])[] = [
  [[0x1f, 0x8b], 'a gzip file', 'unpack it first (gunzip)'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'a zstd file', 'unpack it first (unzstd)'],
  [[0x42, 0x5a, 0x68], 'a bzip2 file', 'unpack it first (bunzip2)'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'an xz file', 'unpack it first (unxz)'],
  [[0x50, 0x4b, 0x03, 0x04], 'a zip archive', 'unpack it first (unzip)'],
  [[0x50, 0x41, 0x52, 0x31], 'a Parquet file', 'convert it to text first'],
  [[0xff, 0xfe], 'UTF-16 text', 'save it as UTF-8'],
  [[0xfe, 0xff], 'UTF-16 text', 'save it as UTF-8'],
];

/** The kind of a file whose first bytes tell that it is neither UTF-8 text nor safetensors. */
export function otherKind(bytes: Uint8Array): OtherKind | undefined {
  const found = BEGINNINGS.find(([begins]) => begins.every((byte, i) => bytes[i] === byte));
  return found && { name: found[1], remedy: found[2] };
}
