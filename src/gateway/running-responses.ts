import type { StoredResponses } from '../db/content/stored-responses.ts'
import { createBag } from '../lib/collections.ts'
import type { AccountId } from '../model/ids.ts'

/** A stored response whose turn runs in this process. */
export interface RunningResponse {
  readonly id: string
  readonly account: AccountId
  /** Whether its row is there. */
  readonly begun: Promise<boolean>
  /** The whole frames that were sent behind the first so many bytes; undefined where nothing is streamed. */
  readonly framesAfter: ((bytes: number) => Buffer) | undefined
  /** For one that runs in the background: stops it. Another one stops with its client. */
  readonly cancel: (() => void) | undefined
}

export interface Watch {
  /** Whether events of it may have been stored. */
  readonly hasEvents: boolean
  /** It has ended. Resolves when none of its events is being stored any more. Never rejects. */
  stop(): Promise<void>
}

export type RunningResponses = ReturnType<typeof createRunningResponses>

const LOOK_MS = 500
/** Events are stored at every second look. */
const LOOKS_A_WRITE = 2

interface RunningServices {
  readonly responses: Pick<StoredResponses, 'addEvents' | 'isCancelled'>
  readonly onFailure: (error: unknown) => void
}

/**
 * Looks at running responses twice a second. What was streamed is stored, so that a reader at any node can follow it, and finds it after a
 * crash; and a response that was cancelled, at whichever node, is stopped.
 */
export function createRunningResponses({ responses, onFailure }: RunningServices) {
  const running = createBag<ReturnType<typeof begin>>()
  let timer: NodeJS.Timeout | undefined
  let looks = 0

  const look = () => {
    looks += 1
    running.each((each) => void each.look(looks % LOOKS_A_WRITE === 0))
    if (running.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function begin({ id, account, begun, framesAfter, cancel }: RunningResponse) {
    let storedBytes = 0
    let isBusy = false
    let isOver = false
    let writing: Promise<unknown> | undefined
    let mayWrite = framesAfter !== undefined
    const write = async () => {
      const frames = framesAfter?.(storedBytes)
      if (isOver || frames === undefined || frames.length === 0) return
      watched.hasEvents = true
      const adding = responses.addEvents({ id, account }, frames)
      writing = adding
      mayWrite = await adding
      storedBytes += frames.length
    }
    const watched = {
      hasEvents: false,
      async look(isTimeToWrite: boolean) {
        if (isBusy || isOver) return
        isBusy = true
        try {
          const isThere = await begun
          if (isThere && cancel !== undefined && (await responses.isCancelled(account, id)) && !isOver) {
            void watched.stop()
            cancel()
          } else if (isThere && mayWrite && isTimeToWrite) await write()
        } catch (error) {
          mayWrite = false
          onFailure(error)
        } finally {
          isBusy = false
        }
      },
      async stop() {
        isOver = true
        leave()
        await writing
      },
    }
    const leave = running.add(watched)
    return watched
  }

  return {
    watch(response: RunningResponse): Watch {
      timer ??= setInterval(look, LOOK_MS).unref()
      return begin(response)
    },
  }
}
