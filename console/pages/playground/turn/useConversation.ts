import { useEffect, useReducer, useRef } from 'react'
import type { PlaygroundTurn } from '../../../lib/api-client.ts'
import { useInvalidate } from '../../../queries/mutations.ts'
import { type PlaySettings, type TurnTerms, turnTerms } from '../play-settings.ts'
import { chatRequest } from './chat.ts'
import { type Message, type ModelMessage, openCalls } from './conversation.ts'
import { responsesRequest } from './responses.ts'
import { type EndedRun, newRun, type Run, runTurn } from './run-turn.ts'

export type Conversation = ReturnType<typeof useConversation>

/** What the person sends. */
export interface Draft {
  readonly text: string
  readonly images: readonly string[]
}

export const isEmpty = ({ text, images }: Draft): boolean => text.trim() === '' && images.length === 0

/** A conversation with one model. */
export function useConversation(settings: PlaySettings) {
  const turn = useTurn()
  const terms = turnTerms(settings)
  const last = turn.history.at(-1)
  const again = last !== undefined && last.by !== 'model'
  const drafted = ({ text, images }: Draft): readonly Message[] =>
    isEmpty({ text, images })
      ? turn.history
      : [
          ...turn.history,
          { by: 'user', id: nextId(turn.history), text: text.trim(), ...(images.length > 0 && { images }) },
        ]

  const turnOf = (history: readonly Message[], agreed: TurnTerms): PlaygroundTurn =>
    settings.protocol === 'chat'
      ? { endpoint: 'chat/completions', pays: settings.pays, body: chatRequest(agreed, history) }
      : { endpoint: 'responses', pays: settings.pays, body: responsesRequest(agreed, history) }

  const sendAll = (history: readonly Message[]) => {
    if (terms === undefined || turn.running) return
    turn.setHistory(history)
    turn.send(turnOf(history, terms))
  }
  return {
    ...turn,
    blocked: terms === undefined,
    again,
    /** The body that would be sent now, undefined if there is nothing to send. */
    next: (draft: Draft) => {
      const history = drafted(draft)
      return terms === undefined || history.length === 0 ? undefined : turnOf(history, terms).body
    },
    send: (draft: Draft) => {
      if (turn.calls.length === 0 && !(isEmpty(draft) && !again)) sendAll(drafted(draft))
    },
    sendResults: (results: readonly { readonly call: string; readonly text: string }[]) => {
      const id = nextId(turn.history)
      sendAll([
        ...turn.history,
        ...results.map((result, index) => ({ by: 'tool' as const, id: id + index, ...result })),
      ])
    },
    /** Truncates the conversation before the person's message of this number. */
    cutBefore: (number: number) => {
      const message = turn.history.filter(({ by }) => by === 'user')[number]
      if (message !== undefined) turn.setHistory(turn.history.slice(0, turn.history.indexOf(message)))
    },
  }
}

interface TurnState {
  readonly history: readonly Message[]
  /** The current or last turn. */
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

/** Adds the answer to the conversation, even if it was stopped. A refused request adds nothing. */
function ended({ history }: TurnState, run: EndedRun): TurnState {
  const { text, reasoning, calls, items, usage, finish } = run.answer
  const { state, model, requestId, firstMs, totalMs, reasoningMs } = run
  const whole = state === 'done'
  if (text === '' && reasoning === '' && calls.length === 0 && !whole) return { history, run }
  const answer: ModelMessage = {
    by: 'model',
    id: nextId(history),
    text,
    reasoning,
    // A call that was cut off has incomplete arguments and cannot be answered.
    calls: whole ? calls : [],
    items: whole ? items : undefined,
    facts: { state, model, requestId, firstMs, totalMs, reasoningMs, usage, finish },
  }
  return { history: [...history, answer], run }
}

const nextId = (history: readonly Message[]): number => (history.at(-1)?.id ?? 0) + 1

/** The conversation and its running turn. What is not saved is lost with the page. */
function useTurn() {
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
    // Many chunks arrive per animation frame. Render once for all of them.
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
