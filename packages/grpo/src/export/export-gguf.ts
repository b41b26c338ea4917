import { type GgufValue, writeGguf } from '../formats/gguf-writer.js';
import {
  type DecoderConfig,
  namesOf,
  ParameterFile,
  parameterSpecs,
  type UnloadedModel,
} from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import { readTokenizerFiles } from '../text/tokenizer-files.js';
import { type Architecture, architectureOf } from './architectures.js';
import { type ExportType, FILE_TYPES } from './export-types.js';
import { frequencyTensors } from './frequency-tensors.js';
import { ggufTensors, type TensorSource } from './gguf-tensors.js';
import { tokenizerMetadata } from './gguf-tokenizer.js';
import { contextLength, shapeMetadata } from './shape-metadata.js';

/** What was written. */
export interface ExportReport {
  type: ExportType;
  /** Size of the file. */
  bytes: number;
  /** What llama.cpp does otherwise than we do, in sentences. */
  notes: string[];
}

/**
 * Writes a model as a GGUF file: its tensors, with adapters added to them, its tokenizer, chat template and end tokens. One
 * tensor at a time is in memory. The file appears whole or not at all.
 *
 * @param options.type - `bf16` where the weights are bfloat16 and else `f16`, when left out
 * @param options.summed - sees each weight that an adapter was added to; where it throws, no file is left
 * @throws UserError: llama.cpp would compute something else, or give other ids; a weight is NaN, or too large for the type.
 * FileError, FormatError for the files
 */
export function exportGguf(
  model: UnloadedModel,
  path: string,
  options: { type?: ExportType | undefined; watch?: Watch | undefined; summed?: TensorSource['summed'] } = {},
): ExportReport {
  const { dir, folder, endIds } = model;
  const { config, configFile, tokenizer, template } = folder;
  const architecture = architectureOf(config, configFile);
  const text = tokenizerMetadata({
    files: readTokenizerFiles(dir),
    tokenizer,
    endIds,
    template: template?.source,
    rows: config.vocabSize,
  });
  using weights = ParameterFile.open(dir, parameterSpecs(config));
  const isBfloat16 = weights.dtypeOf(`${namesOf(config).embedding}.weight`) === 'bfloat16';
  const type = options.type ?? (isBfloat16 ? 'bf16' : 'f16');
  // No general.name: by some names llama.cpp treats special tokens as those of other models.
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', ['string', architecture.name]],
    ['general.type', ['string', 'model']],
    ['general.file_type', ['uint32', FILE_TYPES[type]]],
    ['general.quantization_version', ['uint32', 2]],
    ...shapeMetadata(config, architecture),
    ...text.metadata,
  ]);
  const tensors = [
    ...frequencyTensors(folder),
    ...ggufTensors({ config, weights, lora: model.lora, architecture, type, summed: options.summed }),
  ];
  const bytes = writeGguf(path, metadata, tensors, options.watch);
  return { type, bytes, notes: [...lengthNotes(config, architecture), ...text.notes] };
}

function lengthNotes(config: DecoderConfig, architecture: Architecture): string[] {
  const length = contextLength(config, architecture);
  if (length === config.maxPositions) return [];
  return [
    `llama.cpp's ${architecture.name} has no window: longer sequences than ${length} tokens would give other logits. The file names that as its context length.`,
  ];
}
