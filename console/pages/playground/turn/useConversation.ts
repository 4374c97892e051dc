import { type RefObject, useState } from 'react'
import type { PlayedTurn } from '../../../lib/ask.ts'
import { type PlaySettings, type TurnTerms, turnTerms } from '../settings/play-settings.ts'
import { chatRequest } from './chat.ts'
import type { Said } from './conversation.ts'
import { responsesRequest } from './responses.ts'
import { nextId, usePlay } from './usePlay.ts'

export type Conversation = ReturnType<typeof useConversation>

/** A conversation with what is being typed, under the settings as they are now. */
export function useConversation(settings: PlaySettings, field: RefObject<HTMLTextAreaElement | null>) {
  const play = usePlay()
  const [text, setText] = useState('')
  const terms = turnTerms(settings)
  const last = play.said.at(-1)
  const again = last !== undefined && last.by !== 'model'
  const drafted: readonly Said[] =
    text.trim() === '' ? play.said : [...play.said, { by: 'user', id: nextId(play.said), text: text.trim() }]

  const turnOf = (said: readonly Said[], agreed: TurnTerms): PlayedTurn =>
    settings.protocol === 'chat'
      ? { endpoint: 'chat/completions', pays: settings.pays, body: chatRequest(agreed, said) }
      : { endpoint: 'responses', pays: settings.pays, body: responsesRequest(agreed, said) }

  const sendAll = (said: readonly Said[]) => {
    if (terms === undefined || play.running) return
    play.say(said)
    play.send(turnOf(said, terms))
  }
  return {
    ...play,
    text,
    setText,
    blocked: terms === undefined,
    again,
    /** The body that would be sent now; undefined while there is nothing to send. */
    next: terms === undefined || drafted.length === 0 ? undefined : turnOf(drafted, terms).body,
    send: () => {
      if (play.calls.length > 0 || (text.trim() === '' && !again) || terms === undefined || play.running) return
      setText('')
      sendAll(drafted)
    },
    sendResults: (results: readonly { readonly call: string; readonly text: string }[]) => {
      const id = nextId(play.said)
      sendAll([...play.said, ...results.map((result, index) => ({ by: 'tool' as const, id: id + index, ...result }))])
    },
    edit: (message: Extract<Said, { by: 'user' }>) => {
      play.say(play.said.slice(0, play.said.indexOf(message)))
      setText(message.text)
      field.current?.focus()
    },
    clear: () => {
      play.clear()
      field.current?.focus()
    },
  }
}
