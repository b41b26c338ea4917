/** Functions of Node that the readers import and never call in a page. */
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
