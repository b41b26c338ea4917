/** Who speaks in a conversation. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** One turn of a conversation, as chat templates expect it. */
export interface Message {
  role: Role;
  content: string;
}

/** What a model is asked: plain text, or a conversation rendered by the model's own chat template. */
export type Prompt = string | Message[];
