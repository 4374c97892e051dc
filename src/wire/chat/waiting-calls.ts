import type { Fields } from '../../lib/is-object.ts'
import type { CallItem } from '../../model/conversation.ts'

/** Calls in their order, of which those that were answered are passed by. */
interface Queue {
  readonly calls: CallItem[]
  next: number
}

/**
 * The calls of a conversation whose results have not come. A client may send as many as a body holds, so each is found without
 * a look at the others.
 */
export class WaitingCalls {
  readonly #all: Queue = { calls: [], next: 0 }
  readonly #byId = new Map<unknown, Queue>()
  readonly #byName = new Map<unknown, Queue>()
  readonly #answered = new Set<CallItem>()

  add(call: CallItem): void {
    this.#all.calls.push(call)
    addTo(this.#byId, call.callId, call)
    addTo(this.#byName, call.name, call)
  }

  /** The call that a result is of: by its id; where there is none, by its name; else the first that waits. */
  take({ tool_call_id: id, name }: Fields): CallItem | undefined {
    const call = isId(id)
      ? this.#first(this.#byId.get(id))
      : (this.#first(this.#byName.get(name)) ?? this.#first(this.#all))
    if (call !== undefined) this.#answered.add(call)
    return call
  }

  /** The last call of this id, whether it waits or not. */
  lastOf(id: unknown): CallItem | undefined {
    return this.#byId.get(id)?.calls.at(-1)
  }

  #first(queue: Queue | undefined): CallItem | undefined {
    if (queue === undefined) return undefined
    while (this.#answered.has(queue.calls[queue.next]!)) queue.next++
    return queue.calls[queue.next]
  }
}

const isId = (id: unknown): boolean => typeof id === 'string' && id !== ''

function addTo(queues: Map<unknown, Queue>, key: string, call: CallItem): void {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}
