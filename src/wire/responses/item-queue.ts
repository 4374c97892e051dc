import type { Fields } from '../../lib/is-object.ts'
import type { Heard } from '../event-reader.ts'
import {
  type ItemKind,
  type ItemStep,
  isCall,
  nameOfCall,
  type PartKind,
  type SpokenItem,
  type SpokenPart,
} from './spoken-item.ts'

/** An item while it is heard: where its steps wait until it is its turn. */
export interface HeardItem {
  readonly item: SpokenItem
  readonly index: number
  id: string | undefined
  openPart: SpokenPart | undefined
  /** The provider has said that it is over; what is held of it is still to be told. */
  hasEnded: boolean
  hasStarted: boolean
  readonly held: ItemStep[]
  /** Of the words in these. */
  heldBytes: number
}

/**
 * Puts items one after the other. Providers may write several at once; the first is told as it comes, and what comes for
 * the others meanwhile is held back. Nothing is lost: what is held is told when its turn comes.
 */
export interface ItemQueue {
  add(options: { kind: ItemKind; fields: Fields; id?: string | undefined; index: number; callId?: string }): HeardItem
  /** What is heard of an item later, such as the name without which a call is not told. */
  learn(heard: HeardItem, fields: Fields): void
  /** Words for a part, which is opened, and whichever was open is closed. */
  say(heard: HeardItem, part: SpokenPart, text: string, event: Fields | undefined): void
  openPart(heard: HeardItem, kind: PartKind, key: number | undefined, fields: Fields): SpokenPart
  closePart(heard: HeardItem): void
  annotate(heard: HeardItem, part: SpokenPart, event: Fields): void
  /** The item is over. */
  end(heard: HeardItem, status: 'completed' | 'incomplete'): void
  /** Everything that is still open is over. */
  endAll(status: 'completed' | 'incomplete'): void
  /** What has become tellable since the last time. */
  take(): readonly ItemStep[]
  /** More items, or more parts of them, than any answer has. */
  tooMany(): boolean
}

/** Answers have a handful of items, long agent turns some dozens. Each is looked for among all that there are, and told in frames of its own. */
const ITEMS_MAX = 4096
const PARTS_MAX = 4096

const NO_STEPS: readonly ItemStep[] = []

export function createItemQueue(counts: Pick<Heard, 'outputBytes' | 'heldBytes'>): ItemQueue {
  /** In the order of telling; those that have been told to their end are gone. */
  const waiting: HeardItem[] = []
  let steps: ItemStep[] = []
  let [items, parts] = [0, 0]

  const tell = (heard: HeardItem, step: ItemStep): void => {
    if (heard === waiting[0] && heard.hasStarted) {
      push(steps, step)
      return
    }
    push(heard.held, step)
    if (step.type !== 'delta') return
    const bytes = Buffer.byteLength(step.text)
    heard.heldBytes += bytes
    counts.heldBytes += bytes
    passBy(heard)
    advance()
  }

  /** Where words come for a later item and the one before has said all that it began, its end will not come. */
  const passBy = (heard: HeardItem): void => {
    for (let first = waiting[0]; first !== undefined && first !== heard && isIdle(first); first = waiting[0]) {
      queue.end(first, 'completed')
    }
  }

  const advance = (): void => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      if (!first.hasStarted) {
        // A call is told with its name, which may come late.
        if (isCall(first.item.kind) && !first.hasEnded && nameOfCall(first.item) === '') return
        first.hasStarted = true
        counts.outputBytes += Buffer.byteLength(isCall(first.item.kind) ? nameOfCall(first.item) : '')
        steps.push({ type: 'item-start', item: first.item })
      }
      for (const step of first.held) steps.push(step)
      first.held.length = 0
      counts.heldBytes -= first.heldBytes
      first.heldBytes = 0
      if (!first.hasEnded) return
      waiting.shift()
    }
  }

  const queue: ItemQueue = {
    add({ kind, fields, id, index, callId }) {
      items += 1
      const heard: HeardItem = {
        item: { kind, fields, callId, opaque: undefined, parts: [], status: undefined },
        id,
        index,
        openPart: undefined,
        hasEnded: false,
        hasStarted: false,
        held: [],
        heldBytes: 0,
      }
      const later = waiting.findIndex((other) => !other.hasStarted && other.index > index)
      waiting.splice(later === -1 ? waiting.length : later, 0, heard)
      advance()
      return heard
    },
    learn(heard, fields) {
      const { item, hasStarted } = heard
      // A call goes on under the name that it was told of with.
      const told = hasStarted && isCall(item.kind) ? { name: item.fields.name } : {}
      item.fields = { ...item.fields, ...fields, ...told }
      if (!hasStarted) advance()
    },
    say(heard, part, text, event) {
      part.text += text
      counts.outputBytes += Buffer.byteLength(text)
      tell(heard, { type: 'delta', item: heard.item, part, text, event })
    },
    openPart(heard, kind, key, fields) {
      const { item, openPart } = heard
      if (openPart?.kind === kind && (key === undefined || key === openPart.key)) return openPart
      queue.closePart(heard)
      const alike = item.parts.filter((part) => (part.kind === 'summary_text') === (kind === 'summary_text'))
      const part: SpokenPart = {
        ...{ kind, index: alike.length, key: key ?? alike.length, fields, ended: undefined, text: '', annotations: [] },
      }
      item.parts.push(part)
      parts += 1
      heard.openPart = part
      tell(heard, { type: 'part-start', item, part })
      return part
    },
    closePart(heard) {
      if (heard.openPart === undefined) return
      const part = heard.openPart
      heard.openPart = undefined
      part.ended ??= {}
      tell(heard, { type: 'part-end', item: heard.item, part })
    },
    annotate(heard, part, event) {
      const index = part.annotations.push(event.annotation) - 1
      tell(heard, { type: 'annotation', item: heard.item, part, event, index })
    },
    end(heard, status) {
      if (heard.hasEnded) return
      // A call without arguments has them all the same: they are empty.
      if (isCall(heard.item.kind) && heard.item.parts.length === 0) {
        queue.openPart(heard, heard.item.kind === 'function_call' ? 'arguments' : 'input', undefined, {})
      }
      queue.closePart(heard)
      heard.hasEnded = true
      heard.item.status = status
      tell(heard, { type: 'item-end', item: heard.item })
      advance()
    },
    endAll(status) {
      // The last of an answer that was cut is the one that is not whole.
      const open = waiting.filter(({ hasEnded }) => !hasEnded)
      for (const [at, heard] of open.entries()) queue.end(heard, at === open.length - 1 ? status : 'completed')
    },
    take() {
      if (steps.length === 0) return NO_STEPS
      const taken = steps
      steps = []
      return taken
    },
    tooMany: () => items > ITEMS_MAX || parts > PARTS_MAX,
  }
  return queue
}

/** Words that follow on words of the same part, with nothing said beside them, are told as one. */
function push(steps: ItemStep[], step: ItemStep): void {
  const last = steps[steps.length - 1]
  const goesOn =
    last?.type === 'delta' && step.type === 'delta' && last.part === step.part && !last.event && !step.event
  if (goesOn) steps[steps.length - 1] = { ...step, text: last.text + step.text }
  else steps.push(step)
}

/** All that it began is said: its parts have had their last words. */
const isIdle = ({ item, hasEnded }: HeardItem): boolean =>
  !hasEnded && item.parts.length > 0 && item.parts.every(({ ended }) => ended !== undefined)
