/** A model or a dataset of a hub. */
export interface Repository {
  kind: 'model' | 'dataset';
  /** `ORG/NAME`. */
  name: string;
}

/** `ORG/NAME` or `ORG/NAME@REVISION`, read. */
export interface Reference {
  name: string;
  revision: string | undefined;
}

/** The branch that is meant when no revision is named. */
export const MAIN = 'main';

const NAME = /^[A-Za-z0-9_][\w.-]*\/[A-Za-z0-9_][\w.-]*$/;
const COMMIT = /^[0-9a-f]{40}$/;

/** What a text refers to, or undefined when it cannot be a name on a hub: a path, for instance. */
export function parseReference(text: string): Reference | undefined {
  const at = text.indexOf('@');
  const name = at < 0 ? text : text.slice(0, at);
  const revision = at < 0 ? undefined : text.slice(at + 1);
  // The hub takes no names with -- or .. in them, so the name of a cache folder can be read back.
  if (!NAME.test(name) || /--|\.\./.test(name)) return undefined;
  return revision === undefined || isRevision(revision) ? { name, revision } : undefined;
}

/** Whether a text can be a branch, a tag or a commit; it becomes part of a path. */
export function isRevision(text: string): boolean {
  return /^[\w+-][\w.+-]*(\/[\w+-][\w.+-]*)*$/.test(text) && !text.includes('..');
}

/** Whether a revision is a commit itself, written in full. */
export function isCommit(revision: string): boolean {
  return COMMIT.test(revision);
}

/** The command that gets a repository, for hints. */
export function fetchCommand({ kind, name }: Repository, revision = MAIN): string {
  const flags = `${kind === 'dataset' ? ' --dataset' : ''}${revision === MAIN ? '' : ` --revision ${revision}`}`;
  return `npx grpo fetch ${name}${flags}`;
}
