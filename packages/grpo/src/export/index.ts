export { type ExportReport, exportGguf } from './export-gguf.js';
export { type ExportType, exportTypes } from './export-types.js';
