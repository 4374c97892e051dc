import { type RefObject, useState } from 'react'
import type { PlaygroundTurn } from '../../../lib/api-client.ts'
import { type PlaySettings, type TurnTerms, turnTerms } from '../settings/play-settings.ts'
import { chatRequest } from './chat.ts'
import type { Message } from './conversation.ts'
import { responsesRequest } from './responses.ts'
import { nextId, useTurn } from './useTurn.ts'

export type Conversation = ReturnType<typeof useConversation>

/** A conversation with what is being typed, under the settings as they are now. */
export function useConversation(settings: PlaySettings, field: RefObject<HTMLTextAreaElement | null>) {
  const turn = useTurn()
  const [text, setText] = useState('')
  const terms = turnTerms(settings)
  const last = turn.history.at(-1)
  const again = last !== undefined && last.by !== 'model'
  const drafted: readonly Message[] =
    text.trim() === '' ? turn.history : [...turn.history, { by: 'user', id: nextId(turn.history), text: text.trim() }]

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
    text,
    setText,
    blocked: terms === undefined,
    again,
    /** The body that would be sent now; undefined while there is nothing to send. */
    next: terms === undefined || drafted.length === 0 ? undefined : turnOf(drafted, terms).body,
    send: () => {
      if (turn.calls.length > 0 || (text.trim() === '' && !again) || terms === undefined || turn.running) return
      setText('')
      sendAll(drafted)
    },
    sendResults: (results: readonly { readonly call: string; readonly text: string }[]) => {
      const id = nextId(turn.history)
      sendAll([...turn.history, ...results.map((result, index) => ({ by: 'tool' as const, id: id + index, ...result }))])
    },
    edit: (message: Extract<Message, { by: 'user' }>) => {
      turn.setHistory(turn.history.slice(0, turn.history.indexOf(message)))
      setText(message.text)
      field.current?.focus()
    },
    clear: () => {
      turn.clear()
      field.current?.focus()
    },
  }
}
