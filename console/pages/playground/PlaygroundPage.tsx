import { useSearch } from '@tanstack/react-router'
import { Boxes, SlidersHorizontal } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { cx } from '../../lib/cx.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { type ModelItem, useModels } from '../../queries/account.ts'
import { Button } from '../../ui/Button.tsx'
import { Segmented } from '../../ui/inputs.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { ChatTab, type Side, stopAll } from './ChatTab.tsx'
import { CodeTab } from './CodeTab.tsx'
import { FIRST_SETTINGS, type PlaySettings } from './play-settings.ts'
import { RawEvents } from './RawEvents.tsx'
import { firstChoice, type ModelChoice, modelChoices, RequestSettings } from './RequestSettings.tsx'
import { SavedConversations } from './SavedConversations.tsx'
import type { OtherModel, SavedState } from './saved.ts'
import { type Draft, isEmpty, useConversation } from './turn/useConversation.ts'

export function PlaygroundPage() {
  const { common, shell, playground } = useMessages()
  const models = useModels()
  const { model: wanted } = useSearch({ strict: false }) as { model?: string }
  if (models.data === undefined || models.data.items.length === 0) {
    return (
      <Page>
        <PageHeader title={shell.pageTitles.playground} about={playground.about} />
        <Panel>
          <QueryView query={models} lines={6}>
            {() => (
              <Empty
                icon={Boxes}
                title={playground.noModels}
                text={playground.noModelsText}
                action={<Button onClick={() => void models.refetch()}>{common.retry}</Button>}
              />
            )}
          </QueryView>
        </Panel>
      </Page>
    )
  }
  const choices = modelChoices(models.data.items)
  const first = firstChoice(choices, wanted)
  return <Playground key={wanted} choices={choices} first={first?.id ?? ''} firstKinds={first?.model.kinds ?? []} />
}

interface PlaygroundProps {
  readonly choices: readonly ModelChoice[]
  readonly first: string
  readonly firstKinds: ModelItem['kinds']
}

type Tab = 'chat' | 'raw' | 'code'

const NO_DRAFT: Draft = { text: '', images: [] }

function Playground({ choices, first, firstKinds }: PlaygroundProps) {
  const { shell, playground } = useMessages()
  const pays = firstKinds.includes('wallet') ? FIRST_SETTINGS.pays : (firstKinds[0] ?? FIRST_SETTINGS.pays)
  const [settings, setSettings] = useState({ ...FIRST_SETTINGS, model: first, pays })
  const [tab, setTab] = useState<Tab>('chat')
  const [open, setOpen] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const { sides, other, setOther, clear, load, running, ...composed } = useSides(settings, setSettings, choices)
  const [shownSide, setShownSide] = useState<'0' | '1'>('0')
  const send = () => {
    if (composed.send()) setTab('chat')
  }
  const begin = (start: () => void) => {
    start()
    setShownSide('0')
    field.current?.focus()
  }
  usePlayKeys({ running, onStop: () => stopAll(sides), onSend: send })
  return (
    <Page>
      <Header open={open} onOpen={setOpen}>
        <SavedConversations
          state={{ settings, other, histories: sides.map(({ chat }) => chat.history) }}
          running={running}
          onLoad={(state) => begin(() => load(state))}
          onNew={() => begin(clear)}
        />
      </Header>
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_19rem]">
        <div className={cx('min-w-0 lg:order-2', !open && 'max-lg:hidden')}>
          <Panel title={playground.request}>
            <RequestSettings
              choices={choices}
              settings={settings}
              onChange={(change) => setSettings({ ...settings, ...change })}
              other={other}
              onOther={(picked) => {
                setOther(picked)
                setShownSide('0')
              }}
            />
          </Panel>
        </div>
        <Panel>
          <Tabs
            label={shell.pageTitles.playground}
            value={tab}
            onPick={setTab}
            tabs={(['chat', 'raw', 'code'] as const).map((value) => ({
              value,
              label: playground.tabs[value],
              content:
                value === 'chat' ? (
                  <ChatTab
                    {...composed}
                    sides={sides}
                    field={field}
                    onSend={send}
                    onTools={(tools) => setSettings({ ...settings, tools })}
                  />
                ) : (
                  <OneSide sides={sides} shown={shownSide} onShow={setShownSide}>
                    {({ chat }) =>
                      value === 'raw' ? (
                        <RawEvents raw={chat.run?.raw} />
                      ) : (
                        <CodeTab settings={settings} body={chat.next(composed.draft)} />
                      )
                    }
                  </OneSide>
                ),
            }))}
          />
        </Panel>
      </div>
    </Page>
  )
}

interface HeaderProps {
  readonly open: boolean
  readonly onOpen: (open: boolean) => void
  readonly children: ReactNode
}

/** On a small window the settings are closed until a button opens them. */
function Header({ open, onOpen, children }: HeaderProps) {
  const { shell, playground } = useMessages()
  return (
    <PageHeader
      title={shell.pageTitles.playground}
      about={playground.about}
      actions={
        <>
          <Button className="lg:hidden" aria-expanded={open} onClick={() => onOpen(!open)}>
            <SlidersHorizontal aria-hidden="true" />
            {playground.showRequest}
          </Button>
          {children}
        </>
      }
    />
  )
}

interface OneSideProps {
  readonly sides: readonly Side[]
  readonly shown: '0' | '1'
  readonly onShow: (side: '0' | '1') => void
  readonly children: (side: Side) => ReactNode
}

/** Of two sides the chosen one. */
function OneSide({ sides, shown, onShow, children }: OneSideProps) {
  const { playground } = useMessages()
  const side = sides[Number(shown)] ?? sides[0]
  return (
    <div className="grid grid-cols-1 gap-3">
      {sides.length > 1 && (
        <Segmented
          label={playground.model}
          value={shown}
          options={(['0', '1'] as const).map((value) => ({ value, label: sides[Number(value)]?.model ?? '' }))}
          onPick={onShow}
        />
      )}
      {side !== undefined && children(side)}
    </div>
  )
}

const hasImagesIn = (history: SavedState['histories'][number]): boolean =>
  history.some((message) => message.by === 'user' && message.images !== undefined)

/** Undefined for a model that is not in the list any more. */
const takesImages = (choices: readonly ModelChoice[], model: string): boolean | undefined =>
  choices.find(({ id }) => id === model)?.model.inputs.includes('image')

/** One conversation, or two that get the same messages, and the message that is being written. */
function useSides(
  settings: PlaySettings,
  setSettings: (settings: PlaySettings) => void,
  choices: readonly ModelChoice[],
) {
  const [draft, setDraft] = useState(NO_DRAFT)
  const [other, setOther] = useState<OtherModel>()
  const one = useConversation(settings)
  const two = useConversation({ ...settings, ...other })
  const sides: readonly Side[] = [
    { model: settings.model, chat: one },
    ...(other === undefined ? [] : [{ model: other.model, chat: two }]),
  ]
  const running = sides.some(({ chat }) => chat.running)
  const blind = sides.flatMap(({ model }) => (takesImages(choices, model) === false ? [model] : []))
  const hasImages = draft.images.length > 0 || sides.some(({ chat }) => hasImagesIn(chat.history))
  const blocked = sides.some(({ chat }) => chat.blocked) || (hasImages && blind.length > 0)
  const clear = () => {
    one.clear()
    two.clear()
    setDraft(NO_DRAFT)
  }
  return {
    ...{ sides, other, running, draft, onDraft: setDraft, blind, hasImages, blocked, clear },
    setOther: (picked: OtherModel | undefined) => {
      // A second conversation begins where the first one is, so that both answer the same.
      if (other === undefined && picked !== undefined) two.setHistory(one.history)
      if (picked === undefined) two.clear()
      setOther(picked)
    },
    /** False if there is nothing to send, or it cannot be sent now. */
    send: (): boolean => {
      const isIdle = !running && sides.every(({ chat }) => chat.calls.length === 0)
      if (blocked || !isIdle || (isEmpty(draft) && !sides.every(({ chat }) => chat.again))) return false
      for (const { chat } of sides) chat.send(draft)
      setDraft(NO_DRAFT)
      return true
    },
    load: ({ settings: saved, other: second, histories }: SavedState) => {
      clear()
      setSettings(saved)
      setOther(second)
      one.setHistory(histories[0] ?? [])
      two.setHistory(histories[1] ?? [])
    },
  }
}

interface PlayKeys {
  readonly running: boolean
  readonly onSend: () => void
  readonly onStop: () => void
}

function usePlayKeys(keys: PlayKeys): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return
      const { running, onSend, onStop } = latest.current
      if (event.key === 'Escape' && running) onStop()
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      // A form, such as the one for call results, submits itself.
      const form = event.target instanceof Element ? event.target.closest('form') : null
      if (form === null) onSend()
      else form.requestSubmit()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}
