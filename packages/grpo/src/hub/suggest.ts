import { listDatasets, listModels } from '@huggingface/hub';
import { editDistance } from '../errors/nearest-name.js';
import { UserError } from '../errors/user-error.js';
import { type Connection, patientFetch } from './connection.js';
import type { Repository } from './repository.js';

/** Names that are looked at. */
const LIMIT = 500;

/** What the same owner has of the most similar name, for a message; undefined when the hub does not tell. */
export async function similarName(
  connection: Connection,
  { kind, name }: Repository,
): Promise<string | undefined> {
  const subject = { kind, name, revision: '' };
  // One attempt: the answer is for a message that is worth printing without it.
  const fetch = patientFetch({ ...connection, attempts: 1 }, subject);
  const query = { search: { owner: name.split('/')[0]! }, hubUrl: connection.endpoint, fetch, limit: LIMIT };
  const names: string[] = [];
  try {
    for await (const entry of kind === 'model' ? listModels(query) : listDatasets(query)) {
      names.push(entry.name);
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  const distance = (other: string) => editDistance(name.toLowerCase(), other.toLowerCase());
  return names.toSorted((a, b) => distance(a) - distance(b))[0];
}
