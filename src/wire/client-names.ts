import type { Protocol } from '../model/turn.ts'

/** Where a client has written what a lane has no words for. */
const NAMES = {
  audio: { chat: 'input_audio', responses: 'input_audio' },
  effort: { chat: 'reasoning_effort', responses: 'reasoning.effort' },
  file: { chat: 'file', responses: 'input_file' },
  fileId: { chat: 'file.file_id', responses: 'input_file.file_id' },
  fileUrl: { chat: 'file', responses: 'input_file.file_url' },
  format: { chat: 'response_format', responses: 'text.format' },
  image: { chat: 'image_url', responses: 'input_image' },
  logprobs: { chat: 'logprobs', responses: 'include' },
  messageName: { chat: 'messages.name', responses: 'input.name' },
  strayResult: { chat: 'messages.tool_call_id', responses: 'function_call_output' },
  summary: { chat: 'reasoning_effort', responses: 'reasoning.summary' },
  verbosity: { chat: 'verbosity', responses: 'text.verbosity' },
} as const satisfies Record<string, Record<Protocol, string>>

export type NamedApart = keyof typeof NAMES

/** The name by which a client knows it. What both protocols call the same needs no row. */
export const clientName = (what: NamedApart, client: Protocol): string => NAMES[what][client]
