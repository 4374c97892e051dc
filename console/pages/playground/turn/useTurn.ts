import { useEffect, useReducer, useRef } from 'react'
import type { PlaygroundTurn } from '../../../lib/api-client.ts'
import { useInvalidate } from '../../../queries/mutations.ts'
import { type ModelMessage, openCalls, type Message } from './conversation.ts'
import { type EndedRun, newRun, type Run, runTurn } from './run-turn.ts'

export interface TurnState {
  readonly history: readonly Message[]
  /** The turn that runs, or the last one. */
  readonly run: Run | undefined
}

type Action =
  | { readonly kind: 'set-history'; readonly history: readonly Message[] }
  | { readonly kind: 'begin'; readonly model: string }
  | { readonly kind: 'progress'; readonly run: Run }
  | { readonly kind: 'end'; readonly run: EndedRun }
  | { readonly kind: 'clear' }

const EMPTY: TurnState = { history: [], run: undefined }

function reduce(state: TurnState, action: Action): TurnState {
  switch (action.kind) {
    case 'set-history':
      return { history: action.history, run: undefined }
    case 'begin':
      return { ...state, run: newRun(action.model) }
    case 'progress':
      return { ...state, run: action.run }
    case 'end':
      return ended(state, action.run)
    case 'clear':
      return EMPTY
  }
}

/** What the model has said belongs to the conversation from now on, also where it was stopped; of a refusal nothing does. */
function ended({ history }: TurnState, run: EndedRun): TurnState {
  const { text, reasoning, calls, items, usage, finish } = run.answer
  const { state, model, requestId, firstMs, totalMs } = run
  const whole = state === 'done'
  if (text === '' && reasoning === '' && calls.length === 0 && !whole) return { history, run }
  const answer: ModelMessage = {
    by: 'model',
    id: nextId(history),
    text,
    reasoning,
    // A call that was cut has half of its arguments: nobody can answer it.
    calls: whole ? calls : [],
    items: whole ? items : undefined,
    facts: { state, model, requestId, firstMs, totalMs, usage, finish },
  }
  return { history: [...history, answer], run }
}

export const nextId = (history: readonly Message[]): number => (history.at(-1)?.id ?? 0) + 1

/** The conversation, and the one turn of it that may be running. All of it is forgotten with the page. */
export function useTurn() {
  const invalidate = useInvalidate('turn')
  const [state, dispatch] = useReducer(reduce, EMPTY)
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const send = (turn: PlaygroundTurn) => {
    running.current?.abort()
    const controller = new AbortController()
    const { signal } = controller
    running.current = controller
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
      if (running.current?.signal !== signal) return
      running.current = undefined
      dispatch({ kind: 'end', run })
      invalidate()
    })
  }
  return {
    ...state,
    calls: openCalls(state.history),
    running: state.run?.state === 'running',
    setHistory: (history: readonly Message[]) => dispatch({ kind: 'set-history', history }),
    send,
    stop: () => running.current?.abort(),
    clear: () => {
      running.current?.abort()
      running.current = undefined
      dispatch({ kind: 'clear' })
    },
  }
}
