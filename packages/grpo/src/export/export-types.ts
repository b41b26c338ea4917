/** Types of the weights, with the codes of `general.file_type`. */
export const FILE_TYPES = { f32: 0, f16: 1, bf16: 32, q8_0: 7 } as const;

/** What projections and embeddings are written as. Norms, biases and learned positions are float32. */
export type ExportType = keyof typeof FILE_TYPES;

export const exportTypes = Object.keys(FILE_TYPES) as ExportType[];
