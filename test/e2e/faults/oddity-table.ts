import { type FaultRow, survived, whole } from './fault-row.ts'

/** What is not as it should be, and does not keep the client from a whole answer. */
export const ODDITY_TABLE: readonly FaultRow[] = [
  { emits: 'nothing odd: a normal answer', fault: 'healthy', ...survived('reported') },
  { emits: 'no usage', fault: 'no-usage', ...survived('produced') },
  { emits: 'a usage of zero', fault: 'zero-usage', ...survived('reported') },
  { emits: 'an impossibly high usage', fault: 'huge-usage', ...survived('bounded') },
  { emits: 'a negative usage', fault: 'negative-usage', ...survived('produced') },
  { emits: 'a usage without numbers', fault: 'words-as-usage', ...survived('produced') },
  {
    emits: 'more output tokens than the cap',
    fault: 'beyond-the-cap',
    sends: { max_tokens: 16 },
    jsonBefore: whole('bounded'),
  },
  { emits: 'usage on every chunk', fault: 'usage-on-every-chunk', streamBefore: whole('reported') },
  { emits: 'no `[DONE]`', fault: 'no-done', streamBefore: whole('reported') },
  { emits: 'two `[DONE]`', fault: 'double-done', streamBefore: whole('reported') },
  { emits: '`[DONE]`, then an open connection', fault: 'open-after-done', streamBefore: whole('reported') },
  { emits: 'comments and events without data', fault: 'comments-among-words', streamBefore: whole('reported') },
  { emits: 'a broken connection after the finish reason', fault: 'cut-after-finish', streamBefore: whole('produced') },
  {
    emits: 'silence after the finish reason',
    fault: 'hang-after-finish',
    upstream: 'brief-idle',
    streamBefore: whole('produced'),
  },
  {
    emits: 'characters cut between packets',
    fault: 'split-characters',
    text: 'Zażółć 🦜 gęślą 日本語',
    ...survived('reported'),
  },
  { emits: 'bytes that are not UTF-8', fault: 'invalid-utf8', text: 'a\ufffdz', ...survived('reported') },
  { emits: '102 and 103 before the answer', fault: 'interim-answers', ...survived('reported') },
  {
    emits: '400 for `max_tokens`: retried with `max_completion_tokens`',
    fault: 'max-tokens-refused',
    ...survived('reported'),
  },
  {
    emits: '422 for a field: retried without it',
    fault: 'field-refused',
    sends: { seed: 7 },
    ...survived('reported'),
  },
  { emits: 'no finish reason in a JSON answer', fault: 'finish-left-out', jsonBefore: whole('reported') },
  {
    emits: 'tool calls without index, id, type, name first',
    fault: 'odd-tool-calls',
    text: '',
    ...survived('reported'),
  },
]
