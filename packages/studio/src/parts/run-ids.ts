/** Ids of several runs in one setting of an address: `with=/runs/a,/runs/b`. */

export const joinIds = (ids: readonly string[]): string =>
  ids.map((id) => id.replace(/[%,]/g, encodeURIComponent)).join(',');

export const splitIds = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .filter((part) => part !== '')
    .map((part) => part.replaceAll(/%2C/gi, ',').replaceAll('%25', '%'));
