import { CloudSun, Code, type LucideIcon, MessageCircleQuestion, ScrollText } from 'lucide-react'
import { type RefObject, useEffect, useRef } from 'react'
import type { Catalogue } from '../../../messages/catalogue.ts'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { EXAMPLE_TOOLS } from '../settings/read-tools.ts'
import type { Conversation } from '../turn/useConversation.ts'
import { RunNote } from './AnswerFacts.tsx'
import { CallResults, Composer } from './Composer.tsx'
import { RunningAnswer, MessageList } from './Messages.tsx'

interface ChatTabProps {
  readonly chat: Conversation
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly onTools: (tools: string) => void
}

/** Longer than this nobody wants an answer to be read to them in one breath. */
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

/** For whoever listens: the answer, once it is whole. */
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

/** Where nothing has been said yet: four things to say. They are put into the field, so that nothing is sent by a slip. */
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

/** How far from the end somebody may be and still want to see what comes. */
const NEAR_PX = 120

/** Keeps the end in sight while it moves away, unless somebody has scrolled up to read. */
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
