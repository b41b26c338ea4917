/** Who speaks in a conversation. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** One turn of a conversation, as chat templates expect it. */
export interface Message {
  role: Role;
  content: string;
  /** What a model thought before it answered, where its template keeps that apart. */
  reasoning_content?: string | null;
  /** Calls of tools, in the form that the template reads. */
  tool_calls?: readonly unknown[] | null;
  /** Of a tool's answer: the call that it answers, and the tool. */
  tool_call_id?: string;
  name?: string;
}

/** What a model is asked: plain text, or a conversation rendered by the model's own chat template. */
export type Prompt = string | Message[];
