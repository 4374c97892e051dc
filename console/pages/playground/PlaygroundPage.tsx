import { useSearch } from '@tanstack/react-router'
import { Boxes, Plus, SlidersHorizontal } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { cx } from '../../lib/cx.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { type ModelItem, useModels } from '../../queries/account.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { ChatTab } from './ChatTab.tsx'
import { CodeTab } from './CodeTab.tsx'
import { FIRST_SETTINGS } from './play-settings.ts'
import { RawEvents } from './RawEvents.tsx'
import { firstChoice, type ModelChoice, modelChoices, RequestSettings } from './RequestSettings.tsx'
import { useConversation } from './turn/useConversation.ts'

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

function Playground({ choices, first, firstKinds }: PlaygroundProps) {
  const { shell, playground } = useMessages()
  const [settings, setSettings] = useState({
    ...FIRST_SETTINGS,
    model: first,
    pays: firstKinds.includes('wallet') ? FIRST_SETTINGS.pays : (firstKinds[0] ?? FIRST_SETTINGS.pays),
  })
  const [tab, setTab] = useState<Tab>('chat')
  const [open, setOpen] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const chat = useConversation(settings, field)
  usePlayKeys({
    running: chat.running,
    onStop: chat.stop,
    onSend: () => {
      setTab('chat')
      chat.send()
    },
  })
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.playground}
        about={playground.about}
        actions={
          <>
            <Button className="lg:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
              <SlidersHorizontal aria-hidden="true" />
              {playground.showRequest}
            </Button>
            <Button disabled={chat.history.length === 0} onClick={chat.clear}>
              <Plus aria-hidden="true" />
              {playground.clear}
            </Button>
          </>
        }
      />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_19rem]">
        <div className={cx('min-w-0 lg:order-2', !open && 'max-lg:hidden')}>
          <Panel title={playground.request}>
            <RequestSettings
              choices={choices}
              settings={settings}
              onChange={(change) => setSettings({ ...settings, ...change })}
            />
          </Panel>
        </div>
        <Panel>
          <Tabs
            label={shell.pageTitles.playground}
            value={tab}
            onPick={setTab}
            tabs={[
              {
                value: 'chat',
                label: playground.tabs.chat,
                content: <ChatTab chat={chat} field={field} onTools={(tools) => setSettings({ ...settings, tools })} />,
              },
              { value: 'raw', label: playground.tabs.raw, content: <RawEvents raw={chat.run?.raw} /> },
              {
                value: 'code',
                label: playground.tabs.code,
                content: <CodeTab settings={settings} body={chat.next} />,
              },
            ]}
          />
        </Panel>
      </div>
    </Page>
  )
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
