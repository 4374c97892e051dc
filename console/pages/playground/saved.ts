import { FIRST_SETTINGS, type PlaySettings } from './play-settings.ts'
import { fieldsOf, listOf, type Message, textOf } from './turn/conversation.ts'

/** The model beside the one of the settings. */
export type OtherModel = Pick<PlaySettings, 'model' | 'effort'>

/** What a saved conversation contains: the settings, and what was said to one model or to two. */
export interface SavedState {
  readonly settings: PlaySettings
  readonly other: OtherModel | undefined
  readonly histories: readonly (readonly Message[])[]
}

const VERSION = 1
/** The server takes a little more. */
const CHARACTERS_MAX = 3_900_000

/** Undefined if it is too long. Without its pictures if they make it so. */
export function writeSaved(state: SavedState): string | undefined {
  const whole = JSON.stringify({ version: VERSION, ...state })
  if (whole.length <= CHARACTERS_MAX) return whole
  const withoutImages = (message: Message): Message => {
    if (message.by !== 'user' || message.images === undefined) return message
    const { images: _, ...rest } = message
    return rest
  }
  const histories = state.histories.map((history) => history.map(withoutImages))
  const text = JSON.stringify({ version: VERSION, ...state, histories })
  return text.length <= CHARACTERS_MAX ? text : undefined
}

const MESSAGES: readonly unknown[] = ['user', 'model', 'tool']

/** Undefined if another version of the console wrote it. */
export function readSaved(content: string): SavedState | undefined {
  const { version, settings, other, histories } = fieldsOf(JSON.parse(content))
  if (version !== VERSION) return undefined
  const known = fieldsOf(settings)
  const read = Object.keys(FIRST_SETTINGS).map((name) => [name, textOf(known[name])] as const)
  return {
    settings: { ...FIRST_SETTINGS, ...Object.fromEntries(read) } as PlaySettings,
    other:
      other === undefined || other === null
        ? undefined
        : { model: textOf(fieldsOf(other).model), effort: textOf(fieldsOf(other).effort) },
    histories: listOf(histories).map((history) =>
      listOf(history).filter((message): message is Message => MESSAGES.includes(fieldsOf(message).by)),
    ),
  }
}

const TITLE_MAX = 80
/** A character outside the first plane counts twice for the server. */
const TITLE_PAIRS_MAX = 50

/** The beginning of the first message, without what cannot be seen. */
export function titleOf([history = []]: SavedState['histories']): string {
  const first = history.find((message) => message.by === 'user')
  const text = first?.by === 'user' ? first.text : ''
  const visible = text.replace(/[\p{C}\p{Z}\s]+/gu, ' ').trim()
  const most = /[\u{10000}-\u{10ffff}]/u.test(visible) ? TITLE_PAIRS_MAX : TITLE_MAX
  return [...visible].slice(0, most).join('').trim()
}
