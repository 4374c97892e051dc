import { type FaultRow, survived, whole } from './fault-row.ts'

/** What is not as it should be, and does not keep the client from a whole answer. */
export const ODDITY_TABLE: readonly FaultRow[] = [
  { description: 'nothing odd: a normal answer', fault: 'healthy', ...survived('reported') },
  { description: 'no usage', fault: 'no-usage', ...survived('produced') },
  { description: 'a usage of zero', fault: 'zero-usage', ...survived('reported') },
  { description: 'an impossibly high usage', fault: 'huge-usage', ...survived('bounded') },
  { description: 'a negative usage', fault: 'negative-usage', ...survived('produced') },
  { description: 'a usage without numbers', fault: 'words-as-usage', ...survived('produced') },
  {
    description: 'more output tokens than the cap',
    fault: 'beyond-the-cap',
    sends: { max_tokens: 16 },
    jsonBefore: whole('bounded'),
  },
  { description: 'usage on every chunk', fault: 'usage-on-every-chunk', streamBefore: whole('reported') },
  { description: 'no `[DONE]`', fault: 'no-done', streamBefore: whole('reported') },
  { description: 'two `[DONE]`', fault: 'double-done', streamBefore: whole('reported') },
  { description: '`[DONE]`, then an open connection', fault: 'open-after-done', streamBefore: whole('reported') },
  { description: 'comments and events without data', fault: 'comments-among-words', streamBefore: whole('reported') },
  {
    description: 'a broken connection after the finish reason',
    fault: 'cut-after-finish',
    streamBefore: whole('produced'),
  },
  {
    description: 'silence after the finish reason',
    fault: 'hang-after-finish',
    upstream: 'brief-idle',
    streamBefore: whole('produced'),
  },
  {
    description: 'characters cut between packets',
    fault: 'split-characters',
    text: 'Zażółć 🦜 gęślą 日本語',
    ...survived('reported'),
  },
  { description: 'bytes that are not UTF-8', fault: 'invalid-utf8', text: 'a\ufffdz', ...survived('reported') },
  { description: '102 and 103 before the answer', fault: 'interim-answers', ...survived('reported') },
  {
    description: '400 for `max_tokens`: retried with `max_completion_tokens`',
    fault: 'max-tokens-refused',
    ...survived('reported'),
  },
  {
    description: '422 for a field: retried without it',
    fault: 'field-refused',
    sends: { seed: 7 },
    ...survived('reported'),
  },
  { description: 'no finish reason in a JSON answer', fault: 'finish-left-out', jsonBefore: whole('reported') },
  {
    description: 'tool calls without index, id, type, name first',
    fault: 'odd-tool-calls',
    text: '',
    ...survived('reported'),
  },
]
