/** Messages of a prompt. */
export interface Said {
  role: string;
  content: string;
}

/** Whether a value of a conversation is a message of plain text. */
export const isMessage = (value: unknown): value is Said =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Said>).role === 'string' &&
  typeof (value as Partial<Said>).content === 'string';
