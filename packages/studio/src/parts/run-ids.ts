/** Ids of runs, which are paths. Several share one setting of an address: `with=/runs/a,/runs/b`. */

/** The last part of a run's path. */
export const lastName = (path: string): string => path.split('/').at(-1)!;

export const joinIds = (ids: readonly string[]): string =>
  ids.map((id) => id.replace(/[%,]/g, encodeURIComponent)).join(',');

export const splitIds = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .filter((part) => part !== '')
    .map((part) => part.replaceAll(/%2C/gi, ',').replaceAll('%25', '%'));
