import { type FaultRow, survived, whole } from './fault-row.ts'

/** What is not as it should be, and does not keep the client from a whole answer. */
export const ODDITY_TABLE: readonly FaultRow[] = [
  { says: 'nothing: a good answer', fault: 'healthy', ...survived('reported') },
  { says: 'no usage', fault: 'no-usage', ...survived('produced') },
  { says: 'a usage of zero', fault: 'zero-usage', ...survived('reported') },
  { says: 'a usage beyond all bounds', fault: 'huge-usage', ...survived('bounded') },
  { says: 'a negative usage', fault: 'negative-usage', ...survived('produced') },
  { says: 'a usage that is not numbers', fault: 'words-as-usage', ...survived('produced') },
  {
    says: 'more output tokens than the cap',
    fault: 'beyond-the-cap',
    asks: { max_tokens: 16 },
    jsonBefore: whole('bounded'),
  },
  { says: 'usage on every chunk', fault: 'usage-on-every-chunk', streamBefore: whole('reported') },
  { says: 'no `[DONE]`', fault: 'no-done', streamBefore: whole('reported') },
  { says: 'two `[DONE]`', fault: 'double-done', streamBefore: whole('reported') },
  { says: '`[DONE]`, and a connection that stays open', fault: 'open-after-done', streamBefore: whole('reported') },
  { says: 'comments and events without data', fault: 'comments-among-words', streamBefore: whole('reported') },
  { says: 'breaks off after the finish reason', fault: 'cut-after-finish', streamBefore: whole('produced') },
  {
    says: 'stops talking after the finish reason',
    fault: 'hang-after-finish',
    upstream: 'brief-idle',
    streamBefore: whole('produced'),
  },
  {
    says: 'characters cut between packets',
    fault: 'split-characters',
    text: 'Zażółć 🦜 gęślą 日本語',
    ...survived('reported'),
  },
  { says: 'bytes that are not UTF-8', fault: 'invalid-utf8', text: 'a\ufffdz', ...survived('reported') },
  { says: '102 and 103 before the answer', fault: 'interim-answers', ...survived('reported') },
  {
    says: '400 for `max_tokens`: asked again with `max_completion_tokens`',
    fault: 'max-tokens-refused',
    ...survived('reported'),
  },
  {
    says: '422 for a field: asked again without it',
    fault: 'field-refused',
    asks: { seed: 7 },
    ...survived('reported'),
  },
  { says: 'no finish reason in a JSON answer', fault: 'finish-left-out', jsonBefore: whole('reported') },
  {
    says: 'tool calls without index, id, type, name first',
    fault: 'odd-tool-calls',
    text: '',
    ...survived('reported'),
  },
]
