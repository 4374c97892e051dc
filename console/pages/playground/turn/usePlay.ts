import { useEffect, useReducer, useRef } from 'react'
import type { PlayedTurn } from '../../../lib/ask.ts'
import { useRenew } from '../../../questions/acts.ts'
import { type ModelSaid, openCalls, type Said } from './conversation.ts'
import { type EndedRun, newRun, type Run, runTurn } from './run-turn.ts'

export interface Play {
  readonly said: readonly Said[]
  /** The turn that runs, or the last one. */
  readonly run: Run | undefined
}

type Change =
  | { readonly kind: 'say'; readonly said: readonly Said[] }
  | { readonly kind: 'begin'; readonly model: string }
  | { readonly kind: 'progress'; readonly run: Run }
  | { readonly kind: 'end'; readonly run: EndedRun }
  | { readonly kind: 'clear' }

const EMPTY: Play = { said: [], run: undefined }

function change(play: Play, made: Change): Play {
  switch (made.kind) {
    case 'say':
      return { said: made.said, run: undefined }
    case 'begin':
      return { ...play, run: newRun(made.model) }
    case 'progress':
      return { ...play, run: made.run }
    case 'end':
      return ended(play, made.run)
    case 'clear':
      return EMPTY
  }
}

/** What the model has said belongs to the conversation from now on, also where it was stopped; of a refusal nothing does. */
function ended({ said }: Play, run: EndedRun): Play {
  const { text, reasoning, calls, items, usage, finish } = run.answer
  const { state, model, requestId, firstMs, totalMs } = run
  const whole = state === 'done'
  if (text === '' && reasoning === '' && calls.length === 0 && !whole) return { said, run }
  const spoken: ModelSaid = {
    by: 'model',
    id: nextId(said),
    text,
    reasoning,
    // A call that was cut has half of its arguments: nobody can answer it.
    calls: whole ? calls : [],
    items: whole ? items : undefined,
    facts: { state, model, requestId, firstMs, totalMs, usage, finish },
  }
  return { said: [...said, spoken], run }
}

export const nextId = (said: readonly Said[]): number => (said.at(-1)?.id ?? 0) + 1

/** The conversation, and the one turn of it that may be running. All of it is forgotten with the page. */
export function usePlay() {
  const renew = useRenew('turn')
  const [play, dispatch] = useReducer(change, EMPTY)
  const stopper = useRef<AbortController>(undefined)
  useEffect(() => () => stopper.current?.abort(), [])

  const send = (turn: PlayedTurn) => {
    stopper.current?.abort()
    const controller = new AbortController()
    const { signal } = controller
    stopper.current = controller
    let frame: number | undefined
    dispatch({ kind: 'begin', model: turn.body.model })
    // Many pieces come between two pictures of the screen: one picture for all of them is enough.
    const onProgress = (current: () => Run) => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined
        if (!signal.aborted) dispatch({ kind: 'progress', run: current() })
      })
    }
    void runTurn(turn, { signal, onProgress }).then((run) => {
      if (frame !== undefined) cancelAnimationFrame(frame)
      if (stopper.current?.signal !== signal) return
      stopper.current = undefined
      dispatch({ kind: 'end', run })
      renew()
    })
  }
  return {
    ...play,
    calls: openCalls(play.said),
    running: play.run?.state === 'running',
    say: (said: readonly Said[]) => dispatch({ kind: 'say', said }),
    send,
    stop: () => stopper.current?.abort(),
    clear: () => {
      stopper.current?.abort()
      stopper.current = undefined
      dispatch({ kind: 'clear' })
    },
  }
}
