/** Speaker of a message. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** One turn of a conversation, as chat templates expect it. */
export interface Message {
  role: Role;
  content: string;
  /** The model's thinking before its answer, where its template keeps the two apart. */
  reasoning_content?: string | null;
  /** Calls of tools, in the form that the template reads. */
  tool_calls?: readonly unknown[] | null;
  /** In a tool's answer: the call that it answers, and the tool. */
  tool_call_id?: string;
  name?: string;
}

/** A prompt for a model: plain text, or a conversation rendered by the model's own chat template. */
export type Prompt = string | Message[];
