import { Pencil } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../../../ui/Button.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { Message, ToolCall } from '../turn/conversation.ts'
import type { Run } from '../turn/run-turn.ts'
import { AnswerFacts } from './AnswerFacts.tsx'

interface MessageListProps {
  readonly history: readonly Message[]
  /** Takes the conversation back to before this message, which can then be written anew. */
  readonly onEdit: (message: Extract<Message, { by: 'user' }>) => void
  readonly locked: boolean
}

/** What has been said so far, in the order in which it was. */
export function MessageList({ history, onEdit, locked }: MessageListProps) {
  const nameOf = (call: string) =>
    history.flatMap((each) => (each.by === 'model' ? each.calls : [])).find(({ id }) => id === call)?.name ?? call
  return history.map((each) => <MessageView key={each.id} message={each} nameOf={nameOf} onEdit={locked ? undefined : onEdit} />)
}

interface MessageViewProps {
  readonly message: Message
  readonly nameOf: (call: string) => string
  readonly onEdit: MessageListProps['onEdit'] | undefined
}

function MessageView({ message, nameOf, onEdit }: MessageViewProps) {
  const { playground } = useMessages()
  switch (message.by) {
    case 'user': {
      const edit = onEdit !== undefined && (
        <IconButton icon={Pencil} label={playground.edit} onClick={() => onEdit(message)} className="-my-1" />
      )
      return (
        <MessageCard who={playground.you} look="user" action={edit}>
          <PlainText text={message.text} />
        </MessageCard>
      )
    }
    case 'tool':
      return (
        <MessageCard who={playground.resultOf(nameOf(message.call))} look="tool">
          <pre className="overflow-x-auto text-sm whitespace-pre-wrap">{message.text}</pre>
        </MessageCard>
      )
    case 'model':
      return (
        <MessageCard who={playground.answerOf(message.facts.model)} look="model">
          {message.reasoning !== '' && <ReasoningFold text={message.reasoning} />}
          <PlainText text={message.text} />
          {message.calls.map((call) => (
            <CallShown key={call.id} call={call} />
          ))}
          <AnswerFacts facts={message.facts} />
        </MessageCard>
      )
  }
}

const LOOKS = {
  user: 'bg-accent-wash',
  model: '',
  tool: 'bg-sunken',
}

interface MessageProps {
  readonly who: string
  readonly look: keyof typeof LOOKS
  readonly action?: ReactNode
  readonly children: ReactNode
}

const MessageCard = ({ who, look, action, children }: MessageProps) => (
  <article className={`grid min-w-0 gap-2 rounded-lg px-4 py-3 ${LOOKS[look]}`}>
    <header className="flex items-center justify-between gap-2">
      <h2 className="eyebrow min-w-0 break-words">{who}</h2>
      {action}
    </header>
    {children}
  </article>
)

/** As it was said, line by line: no markup is made of it, so that nothing in it can become a part of the page. */
const PlainText = ({ text }: { text: string }) =>
  text === '' ? null : <p className="leading-relaxed break-words whitespace-pre-wrap">{text}</p>

/** An answer while it is being written. Whoever listens hears it when it is whole, not letter by letter. */
export function RunningAnswer({ run }: { run: Run }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const { text, reasoning, calls } = run.answer
  return (
    <div aria-busy="true">
      <MessageCard who={playground.answerOf(run.model)} look="model">
        {reasoning !== '' && <ReasoningFold text={reasoning} />}
        <PlainText text={text} />
        {calls.map((call) => (
          <CallShown key={call.id} call={call} />
        ))}
        <p className="figures flex items-center gap-2 text-xs text-faint">
          <span aria-hidden="true" className="breathe size-2 rounded-full bg-accent" />
          {run.firstMs === undefined
            ? playground.waiting
            : `${playground.writing} · ${playground.first} ${formats.duration(run.firstMs)}`}
        </p>
      </MessageCard>
    </div>
  )
}

/** A call with its arguments, indented where they are JSON. */
function CallShown({ call }: { call: ToolCall }) {
  const { playground } = useMessages()
  return (
    <figure className="rounded-md border border-line bg-sunken">
      <figcaption className="border-b border-line px-3 py-1 text-sm font-medium break-words">
        {playground.callOf(call.name)}
      </figcaption>
      {call.arguments !== '' && (
        <pre className="overflow-x-auto px-3 py-2 text-sm whitespace-pre-wrap">{indented(call.arguments)}</pre>
      )}
    </figure>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** What the model thought on its way, folded: it is long, and not the answer. */
function ReasoningFold({ text }: { text: string }) {
  const { playground } = useMessages()
  return (
    <details className="rounded-md border border-line">
      <summary className="px-3 py-1.5 text-sm text-soft hover:text-ink">{playground.reasoning}</summary>
      <p className="border-t border-line px-3 py-2 text-sm break-words whitespace-pre-wrap text-soft">{text}</p>
    </details>
  )
}
