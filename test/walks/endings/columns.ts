import { parseUsd } from '../../../src/model/money.ts'
import type { Delivery } from '../../../src/model/turn.ts'
import type { Seen } from './ending.ts'

/** All that has come of an answer. */
export interface Received {
  readonly status: number
  readonly text: string
  /** Its regular end has come. */
  readonly ended: boolean
}

/** An endpoint in one kind of delivery: every ending is played in each of them. */
export interface Column {
  readonly name: string
  readonly delivery: Delivery
  readonly path: string
  bodyOf(model: string, words: string): object
  /** What of the body is input of the model, in bytes. */
  inputBytes(words: string): number
  /** Messages of the body, for the bound on its input. */
  readonly messages: number
  /** What a client makes of it, and which charge it was told. */
  understand(received: Received): {
    readonly seen: Seen
    readonly charge?: bigint | undefined
  }
}

const messagesOf = (content: string) => [{ role: 'user', content }]

const CHAT = {
  path: '/chat/completions',
  messages: 1,
  inputBytes: (words: string) => Buffer.byteLength(JSON.stringify(messagesOf(words))),
}

const COLUMN_CHAT_JSON: Column = {
  ...CHAT,
  name: 'chat JSON',
  delivery: 'json',
  bodyOf: (model, words) => ({ model, messages: messagesOf(words) }),
  understand({ status, text, ended }) {
    if (!ended) return { seen: { kind: text === '' ? 'nothing' : 'cut' } }
    const said = JSON.parse(text)
    if (status !== 200) return { seen: { kind: 'refused', code: said.error.code } }
    return { seen: { kind: 'whole' }, charge: parseUsd(said.usage.millrace.charge) }
  },
}

const COLUMN_CHAT_STREAM: Column = {
  ...CHAT,
  name: 'chat stream',
  delivery: 'stream',
  bodyOf: (model, words) => ({
    ...{ model, messages: messagesOf(words) },
    ...{ stream: true, stream_options: { include_usage: true } },
  }),
  understand({ status, text, ended }) {
    if (!ended && text === '') return { seen: { kind: 'nothing' } }
    if (status !== 200) return { seen: { kind: 'refused', code: JSON.parse(text).error.code } }
    const data = text
      .split('\n\n')
      .flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice('data: '.length)] : []))
    const last = data.at(-1) ?? '{}'
    if (last === '[DONE]')
      return { seen: { kind: 'whole' }, charge: parseUsd(JSON.parse(data.at(-2) ?? '{}').usage.millrace.charge) }
    const { error } = JSON.parse(last)
    return { seen: error && ended ? { kind: 'broken', code: error.code } : { kind: 'cut' } }
  },
}

/** A new endpoint adds its columns here. */
export const COLUMNS: readonly Column[] = [COLUMN_CHAT_JSON, COLUMN_CHAT_STREAM]

export function columnNamed(name: string): Column {
  const column = COLUMNS.find((each) => each.name === name)
  if (!column) throw new Error(`there is no column ${name}`)
  return column
}
