/** The values of node:util that the readers use. */
export const { TextDecoder } = globalThis;

export const types = {
  isTypedArray: (value: unknown): boolean => ArrayBuffer.isView(value) && !(value instanceof DataView),
};
