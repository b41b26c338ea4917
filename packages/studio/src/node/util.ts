/** What the readers use of node:util. */
export const { TextDecoder } = globalThis;

export const types = {
  isTypedArray: (value: unknown): boolean => ArrayBuffer.isView(value) && !(value instanceof DataView),
};
