import {
  CloudSun,
  Code,
  ImagePlus,
  type LucideIcon,
  MessageCircleQuestion,
  ScrollText,
  Send,
  Square,
  X,
} from 'lucide-react'
import { type DragEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { saidProblem } from '../../lib/console-problem.ts'
import { cx } from '../../lib/cx.ts'
import type { Catalogue } from '../../messages/catalogue.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { Button, IconButton } from '../../ui/Button.tsx'
import { Field, Form } from '../../ui/Form.tsx'
import { TextArea } from '../../ui/inputs.tsx'
import { toast } from '../../ui/toast.ts'
import { IMAGE_TYPES, IMAGES_MAX, imagesIn, prepareImage } from './images.ts'
import { MessageList, RunNote, RunningAnswer } from './MessageList.tsx'
import { EXAMPLE_TOOLS } from './read-tools.ts'
import type { ToolCall, UserMessage } from './turn/conversation.ts'
import { type Conversation, type Draft, isEmpty } from './turn/useConversation.ts'

export interface Side {
  readonly model: string
  readonly chat: Conversation
}

export function stopAll(sides: readonly Side[]): void {
  for (const { chat } of sides) chat.stop()
}

interface ChatTabProps {
  readonly sides: readonly Side[]
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly blocked: boolean
  /** The models that take no images. */
  readonly blind: readonly string[]
  readonly hasImages: boolean
  readonly onSend: () => void
  readonly onTools: (tools: string) => void
}

/** The maximum length of an answer that a screen reader announces. */
const SPOKEN_MAX = 4_000

export function ChatTab(props: ChatTabProps) {
  const { sides, draft, onDraft, field, onTools } = props
  const { playground } = useMessages()
  const running = sides.some(({ chat }) => chat.running)
  const end = useStayAtEnd(running ? sides.map(({ chat }) => chat.run) : undefined)
  const pick = (id: string, prompt: string) => {
    if (id === 'tool') onTools(EXAMPLE_TOOLS)
    onDraft({ ...draft, text: prompt })
    field.current?.focus()
  }
  const edit = (message: UserMessage, number: number) => {
    for (const { chat } of sides) chat.cutBefore(number)
    onDraft({ text: message.text, images: message.images ?? [] })
    field.current?.focus()
  }
  const isCompared = sides.length > 1
  const columns = sides.map(({ model, chat }, index) => (
    <SideColumn
      // biome-ignore lint/suspicious/noArrayIndexKey: the sides keep their places.
      key={index}
      chat={chat}
      onEdit={running ? undefined : edit}
      name={isCompared ? model : undefined}
    />
  ))
  return (
    <div className="grid grid-cols-1 gap-3">
      {sides.every(({ chat }) => chat.history.length === 0 && !chat.running) && <Examples onPick={pick} />}
      {isCompared ? <div className="grid grid-cols-1 items-start gap-4 md:grid-cols-2">{columns}</div> : columns}
      <div ref={end} className="border-t border-line pt-3">
        {sides.some(({ chat }) => chat.calls.length > 0) && !running && isCompared ? (
          <p className="text-sm text-soft">{playground.answerCalls}</p>
        ) : (
          (running || sides.every(({ chat }) => chat.calls.length === 0)) && <Composer {...props} running={running} />
        )}
      </div>
    </div>
  )
}

interface SideColumnProps {
  readonly chat: Conversation
  readonly onEdit: ((message: UserMessage, number: number) => void) | undefined
  /** Of a column beside another one. */
  readonly name: string | undefined
}

function SideColumn({ chat, onEdit, name }: SideColumnProps) {
  const { playground } = useMessages()
  const { run, history, running } = chat
  const content = (
    <>
      <MessageList history={history} onEdit={onEdit} />
      {running && run !== undefined && <RunningAnswer run={run} />}
      {run !== undefined && !running && <RunNote run={run} />}
      <ScreenReaderAnswer chat={chat} />
      {chat.calls.length > 0 && !running && (
        <CallResults key={history.length} calls={chat.calls} blocked={chat.blocked} onSend={chat.sendResults} />
      )}
    </>
  )
  if (name === undefined) return content
  return (
    <section
      aria-label={name}
      className="grid min-w-0 grid-cols-1 content-start gap-3 rounded-lg border border-line p-2"
    >
      <header className="flex min-h-8 items-center justify-between gap-2 ps-2">
        <span className="min-w-0 font-medium wrap-anywhere">{name}</span>
        {running && (
          <Button onClick={chat.stop} aria-label={playground.stopOne(name)}>
            <Square aria-hidden="true" />
            {playground.stop}
          </Button>
        )}
      </header>
      {content}
    </section>
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

const LINES_MAX = 12

function Composer({
  sides,
  draft,
  onDraft,
  field,
  blocked,
  blind,
  hasImages,
  onSend,
  running,
}: ChatTabProps & { readonly running: boolean }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const [isOver, setOver] = useState(false)
  const attach = useAttach(draft, onDraft, blind)
  const again = sides.every(({ chat }) => chat.again)
  const isAgain = again && isEmpty(draft)
  const note = hasImages && blind.length > 0 ? playground.imagesNotTaken(formats.list(blind)) : undefined
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    attach(imagesIn(event.dataTransfer))
  }
  return (
    <Form className="grid gap-2" onSend={onSend}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: files can also be picked by a button. */}
      <div
        className={cx('grid gap-2 rounded-md', isOver && 'outline-2 outline-accent')}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <Previews images={draft.images} onRemove={(images) => onDraft({ ...draft, images })} />
        <TextArea
          ref={field}
          aria-label={playground.message}
          placeholder={playground.messagePlaceholder}
          rows={Math.min(LINES_MAX, Math.max(3, draft.text.split('\n').length + 1))}
          value={draft.text}
          onChange={(event) => onDraft({ ...draft, text: event.target.value })}
          onPaste={(event) => {
            const files = imagesIn(event.clipboardData)
            if (files.length === 0) return
            event.preventDefault()
            attach(files)
          }}
        />
      </div>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className={cx('text-xs', note === undefined ? 'text-faint' : 'text-held')}>
          {note ?? (blocked ? playground.fixFirst : playground.sendKeys)}
        </p>
        <div className="flex flex-wrap items-center gap-2">
          {blind.length === 0 && <AttachButton onFiles={attach} disabled={draft.images.length >= IMAGES_MAX} />}
          {running ? (
            <Button onClick={() => stopAll(sides)}>
              <Square aria-hidden="true" />
              {sides.length > 1 ? playground.stopAll : playground.stop}
            </Button>
          ) : (
            <Button tone="primary" type="submit" disabled={blocked || (isEmpty(draft) && !again)}>
              <Send aria-hidden="true" />
              {isAgain ? playground.sendAgain : playground.send}
            </Button>
          )}
        </div>
      </div>
    </Form>
  )
}

const tell = (text: string) => toast({ tone: 'bad', problem: saidProblem(text) })

/** Prepares files and adds them, up to the bound. */
function useAttach(draft: Draft, onDraft: (draft: Draft) => void, blind: readonly string[]) {
  const { playground } = useMessages()
  const formats = useFormats()
  const latest = useRef(draft)
  useEffect(() => {
    latest.current = draft
  })
  const add = async (files: readonly File[]) => {
    if (files.length === 0) return
    if (blind.length > 0) return tell(playground.imagesNotTaken(formats.list(blind)))
    const prepared = await Promise.all(files.slice(0, IMAGES_MAX).map(prepareImage))
    const refused = prepared.flatMap((image) => (image.kind === 'refused' ? [image.name] : []))
    const all = [...latest.current.images, ...prepared.flatMap((image) => (image.kind === 'image' ? [image.url] : []))]
    if (refused.length > 0) tell(playground.imageRefused(formats.list(refused)))
    if (all.length > IMAGES_MAX || files.length > IMAGES_MAX) tell(playground.imagesTooMany(formats.count(IMAGES_MAX)))
    onDraft({ ...latest.current, images: all.slice(0, IMAGES_MAX) })
  }
  return (files: readonly File[]) => void add(files)
}

function AttachButton({ onFiles, disabled }: { onFiles: (files: readonly File[]) => void; disabled: boolean }) {
  const { playground } = useMessages()
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        accept={IMAGE_TYPES}
        multiple
        hidden
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])])
          // The same file can be picked again.
          event.target.value = ''
        }}
      />
      <Button disabled={disabled} onClick={() => input.current?.click()}>
        <ImagePlus aria-hidden="true" />
        {playground.attach}
      </Button>
    </>
  )
}

interface PreviewsProps {
  readonly images: readonly string[]
  readonly onRemove: (left: readonly string[]) => void
}

function Previews({ images, onRemove }: PreviewsProps) {
  const { playground } = useMessages()
  const formats = useFormats()
  if (images.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-2">
      {images.map((url, index) => {
        const name = playground.image(formats.count(index + 1))
        return (
          <li key={url} className="relative">
            <img src={url} alt={name} className="size-20 rounded-md border border-line object-cover" />
            <span className="absolute end-0.5 top-0.5 rounded-md bg-surface">
              <IconButton
                icon={X}
                label={playground.imageRemove(name)}
                onClick={() => onRemove(images.filter((_, at) => at !== index))}
              />
            </span>
          </li>
        )
      })}
    </ul>
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
