/** Element types by their PyTorch names. */
export type DType =
  | 'uint8'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'bool'
  | 'bfloat16';

/** Numbers of c10::ScalarType, which is how a dtype crosses into libtorch. */
const codes: Record<DType, number> = {
  uint8: 0,
  int8: 1,
  int16: 2,
  int32: 3,
  int64: 4,
  float16: 5,
  float32: 6,
  float64: 7,
  bool: 11,
  bfloat16: 15,
};

const names = new Map(Object.entries(codes).map(([name, code]) => [code, name as DType]));

/** The number that libtorch knows a dtype by; throws for an unknown name. */
export function dtypeCode(dtype: string): number {
  const code = codes[dtype as DType];
  if (code === undefined)
    throw new TypeError(`unknown dtype '${dtype}'; known: ${Object.keys(codes).join(', ')}`);
  return code;
}

/** The name of libtorch's dtype number. */
export function dtypeName(code: number): DType {
  const name = names.get(code);
  if (name === undefined) throw new TypeError(`tensors of libtorch's scalar type ${code} are not supported`);
  return name;
}

const widths: Record<DType, number> = {
  uint8: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  float16: 2,
  float32: 4,
  float64: 8,
  bool: 1,
  bfloat16: 2,
};

/** Bytes an element. */
export const dtypeSize = (dtype: DType): number => widths[dtype];
