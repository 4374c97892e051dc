import { Link } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import type { ReactNode } from 'react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useSettledRequest } from '../../queries/requests.ts'
import { IconButton } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { ProblemNote } from '../../ui/QueryView.tsx'
import { Money, Tokens } from '../../ui/values.tsx'
import type { Message, ToolCall, TurnFacts } from './turn/conversation.ts'
import type { Run } from './turn/run-turn.ts'

interface MessageListProps {
  readonly history: readonly Message[]
  /** Truncates the conversation before this message and puts it into the field. */
  readonly onEdit: (message: Extract<Message, { by: 'user' }>) => void
  readonly locked: boolean
}

export function MessageList({ history, onEdit, locked }: MessageListProps) {
  const nameOf = (call: string) =>
    history.flatMap((each) => (each.by === 'model' ? each.calls : [])).find(({ id }) => id === call)?.name ?? call
  return history.map((each) => (
    <MessageView key={each.id} message={each} nameOf={nameOf} onEdit={locked ? undefined : onEdit} />
  ))
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
        <MessageCard who={message.facts.model} look="model">
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

/** Plain text: markup in an answer never becomes part of the page. */
const PlainText = ({ text }: { text: string }) =>
  text === '' ? null : <p className="leading-relaxed break-words whitespace-pre-wrap">{text}</p>

/** The answer while it streams. Screen readers hear it when it is complete. */
export function RunningAnswer({ run }: { run: Run }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const { text, reasoning, calls } = run.answer
  return (
    <div aria-busy="true">
      <MessageCard who={run.model} look="model">
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

function ReasoningFold({ text }: { text: string }) {
  const { playground } = useMessages()
  return (
    <details className="rounded-md border border-line">
      <summary className="px-3 py-1.5 text-sm text-soft hover:text-ink">{playground.reasoning}</summary>
      <p className="border-t border-line px-3 py-2 text-sm break-words whitespace-pre-wrap text-soft">{text}</p>
    </details>
  )
}

/** Normal finish reasons that need no mention. */
const USUAL_ENDS = new Set(['stop', 'completed', 'tool_calls'])

function AnswerFacts({ facts }: { facts: TurnFacts }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const { usage, finish, requestId, state } = facts
  return (
    <div className="grid gap-1.5 text-xs text-soft">
      <div className="figures flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <dl className="contents">
          {facts.firstMs !== undefined && <Fact name={playground.first}>{formats.duration(facts.firstMs)}</Fact>}
          <Fact name={playground.total}>{formats.duration(facts.totalMs)}</Fact>
          {usage !== undefined && (
            <>
              <Fact name={playground.input}>
                <Tokens count={usage.input} />
                {usage.cached > 0 && ` (${playground.cached(formats.short(usage.cached))})`}
              </Fact>
              <Fact name={playground.output}>
                <Tokens count={usage.output} />
                {usage.reasoning > 0 && ` (${playground.reasoned(formats.short(usage.reasoning))})`}
              </Fact>
            </>
          )}
          {usage?.charge != null && (
            <Fact name={playground.cost}>
              <span className="font-semibold text-ink">
                <Money amount={usage.charge} />
              </span>
              {usage.estimated && ` (${playground.estimated})`}
            </Fact>
          )}
        </dl>
        {finish !== undefined && !USUAL_ENDS.has(finish) && (
          <span className="text-held">{playground.ended(finish)}</span>
        )}
        {requestId !== null && <RequestName id={requestId} />}
      </div>
      {state !== 'done' && requestId !== null && <SettledCharge request={requestId} state={state} />}
    </div>
  )
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="flex gap-1.5">
    <dt className="text-faint">{name}</dt>
    <dd>{children}</dd>
  </div>
)

function RequestName({ id }: { id: string }) {
  const { playground } = useMessages()
  return (
    <span className="inline-flex min-w-0 items-center">
      <Link
        to="/requests/$request"
        params={{ request: id }}
        className="min-w-0 font-mono break-all text-accent hover:underline"
      >
        {id}
      </Link>
      <span className="-my-2">
        <CopyButton text={id} label={playground.copyRequestId} />
      </span>
    </span>
  )
}

export function RunNote({ run }: { run: Run }) {
  const { playground } = useMessages()
  const { text, reasoning, calls } = run.answer
  // A stopped answer with content shows its own note in the conversation.
  const silent = text === '' && reasoning === '' && calls.length === 0
  if (run.state === 'failed') {
    return (
      <div className="grid gap-1.5">
        <ProblemNote error={run.problem} />
        {run.requestId !== null && run.requestId !== '' && run.problem?.status === 0 && (
          <RequestName id={run.requestId} />
        )}
      </div>
    )
  }
  if (run.state !== 'stopped' || !silent) return null
  if (run.requestId !== null) return <SettledCharge request={run.requestId} state="stopped" />
  return (
    <p role="status" className="rounded-md bg-sunken px-3 py-2 text-soft">
      {playground.stoppedFree}
    </p>
  )
}

/** The charge of an incomplete answer, once it is settled. */
function SettledCharge({ request, state }: { request: string; state: 'stopped' | 'failed' }) {
  const { playground } = useMessages()
  const query = useSettledRequest(request)
  const charge = query.settled ? query.data?.charge : undefined
  const waiting = query.error === null && !query.settled
  return (
    <p role="status" className="rounded-md bg-held-wash px-2.5 py-1.5 text-held">
      {state === 'stopped' ? playground.stoppedCharged : playground.brokenCharged}{' '}
      {charge != null && (
        <span className="font-semibold">
          {playground.charged} <Money amount={charge} />
        </span>
      )}
      {waiting && playground.chargePending}
      {query.error !== null && playground.chargeUnknown}
    </p>
  )
}
