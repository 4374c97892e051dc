import { CloudSun, Code, type LucideIcon, MessageCircleQuestion, ScrollText, Send, Square } from 'lucide-react'
import { type RefObject, useEffect, useRef, useState } from 'react'
import type { Catalogue } from '../../messages/catalogue.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Button } from '../../ui/Button.tsx'
import { Field, Form } from '../../ui/Form.tsx'
import { TextArea } from '../../ui/inputs.tsx'
import { MessageList, RunNote, RunningAnswer } from './MessageList.tsx'
import { EXAMPLE_TOOLS } from './read-tools.ts'
import type { ToolCall } from './turn/conversation.ts'
import type { Conversation } from './turn/useConversation.ts'

interface ChatTabProps {
  readonly chat: Conversation
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly onTools: (tools: string) => void
}

/** The maximum length of an answer that a screen reader announces. */
const SPOKEN_MAX = 4_000

export function ChatTab({ chat, field, onTools }: ChatTabProps) {
  const { run, history, running } = chat
  const end = useStayAtEnd(run)
  const pick = (id: string, prompt: string) => {
    if (id === 'tool') onTools(EXAMPLE_TOOLS)
    chat.setText(prompt)
    field.current?.focus()
  }
  return (
    <div className="grid grid-cols-1 gap-3">
      {history.length === 0 && !running && <Examples onPick={pick} />}
      <MessageList history={history} onEdit={chat.edit} locked={running} />
      {running && run !== undefined && <RunningAnswer run={run} />}
      {run !== undefined && !running && <RunNote run={run} />}
      <ScreenReaderAnswer chat={chat} />
      <div ref={end} className="border-t border-line pt-3">
        {chat.calls.length > 0 && !running ? (
          <CallResults key={history.length} calls={chat.calls} blocked={chat.blocked} onSend={chat.sendResults} />
        ) : (
          <Composer
            field={field}
            text={chat.text}
            onText={chat.setText}
            running={running}
            blocked={chat.blocked}
            again={chat.again}
            onSend={chat.send}
            onStop={chat.stop}
          />
        )}
      </div>
    </div>
  )
}

/** Announces the complete answer to screen readers. */
function ScreenReaderAnswer({ chat: { run } }: { chat: Conversation }) {
  const { playground } = useMessages()
  const announced =
    run === undefined || run.state === 'failed'
      ? ''
      : run.state === 'running'
        ? playground.waiting
        : run.answer.text.slice(0, SPOKEN_MAX)
  return (
    <p aria-live="polite" className="sr-only">
      {announced}
    </p>
  )
}

type ExampleId = keyof Catalogue['playground']['examples']

const ICONS: Readonly<Record<ExampleId, LucideIcon>> = {
  explain: MessageCircleQuestion,
  code: Code,
  tool: CloudSun,
  long: ScrollText,
}
const ORDER: readonly ExampleId[] = ['explain', 'code', 'tool', 'long']

/** Example prompts. They only fill the field, so that a click sends nothing. */
function Examples({ onPick }: { onPick: (id: ExampleId, prompt: string) => void }) {
  const { playground } = useMessages()
  return (
    <div className="grid gap-3 py-4">
      <p className="text-center text-soft">{playground.examplesTitle}</p>
      <ul className="grid gap-2 sm:grid-cols-2">
        {ORDER.map((id) => {
          const Icon = ICONS[id]
          const { title, prompt } = playground.examples[id]
          return (
            <li key={id} className="grid">
              <button
                type="button"
                onClick={() => onPick(id, prompt)}
                className="flex items-start gap-3 rounded-lg border border-line p-3 text-start transition-colors hover:border-edge hover:bg-hover"
              >
                <Icon aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-accent" />
                <span className="grid gap-0.5">
                  <span className="font-medium">{title}</span>
                  <span className="text-sm text-soft">{prompt}</span>
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** How close to the end counts as following. */
const NEAR_PX = 120

/** Keeps the end in view unless the user has scrolled up. */
function useStayAtEnd(moving: unknown): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null)
  const near = useRef(true)
  useEffect(() => {
    const look = () => {
      near.current = document.documentElement.scrollHeight - innerHeight - scrollY < NEAR_PX
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  useEffect(() => {
    if (moving !== undefined && near.current) end.current?.scrollIntoView({ block: 'end' })
  }, [moving])
  return end
}

interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly text: string
  readonly onText: (text: string) => void
  readonly running: boolean
  /** The settings are invalid. */
  readonly blocked: boolean
  /** The conversation already ends with a message, so sending needs no new text. */
  readonly again: boolean
  readonly onSend: () => void
  readonly onStop: () => void
}

const LINES_MAX = 12

function Composer({ field, text, onText, running, blocked, again, onSend, onStop }: ComposerProps) {
  const { playground } = useMessages()
  const isAgain = again && text.trim() === ''
  const send = () => {
    onSend()
  }
  return (
    <Form className="grid gap-2" onSend={send}>
      <TextArea
        ref={field}
        aria-label={playground.message}
        placeholder={playground.messagePlaceholder}
        rows={Math.min(LINES_MAX, Math.max(3, text.split('\n').length + 1))}
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-xs text-faint">{blocked ? playground.fixFirst : playground.sendKeys}</p>
        {running ? (
          <Button onClick={onStop}>
            <Square aria-hidden="true" />
            {playground.stop}
          </Button>
        ) : (
          <Button tone="primary" type="submit" disabled={blocked || (text.trim() === '' && !again)}>
            <Send aria-hidden="true" />
            {isAgain ? playground.sendAgain : playground.send}
          </Button>
        )}
      </div>
    </Form>
  )
}

interface CallResultsProps {
  readonly calls: readonly ToolCall[]
  readonly blocked: boolean
  readonly onSend: (results: readonly { readonly call: string; readonly text: string }[]) => void
}

/** The user enters the result of each call. */
function CallResults({ calls, blocked, onSend }: CallResultsProps) {
  const { playground } = useMessages()
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const send = () => {
    if (!blocked) onSend(calls.map(({ id }) => ({ call: id, text: typed[id] ?? '' })))
  }
  return (
    <Form className="grid gap-3" onSend={send}>
      <div>
        <h2 className="font-semibold">{playground.calls}</h2>
        <p className="text-sm text-faint">{playground.callsText}</p>
      </div>
      {calls.map(({ id, name }, index) => (
        <Field key={id} label={playground.result(name)}>
          {(control) => (
            <TextArea
              {...control}
              // Focus the first result field.
              autoFocus={index === 0}
              rows={2}
              className="font-mono text-sm"
              value={typed[id] ?? ''}
              onChange={(event) => setTyped({ ...typed, [id]: event.target.value })}
            />
          )}
        </Field>
      ))}
      <div className="flex justify-end">
        <Button tone="primary" type="submit" disabled={blocked}>
          {playground.sendResults}
        </Button>
      </div>
    </Form>
  )
}
