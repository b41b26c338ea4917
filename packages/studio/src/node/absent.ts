/** Of modules whose functions no reader and no check calls. */
const refuse = (): never => {
  throw new Error('a page has no such thing');
};

export {
  refuse as createHash,
  refuse as fileURLToPath,
  refuse as getHeapStatistics,
  refuse as pathToFileURL,
  refuse as randomBytes,
};
