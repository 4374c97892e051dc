import { useSearch } from '@tanstack/react-router'
import { Boxes, Plus, SlidersHorizontal } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { cx } from '../../lib/cx.ts'
import { type ModelItem, useModels } from '../../questions/account.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { CodeTab } from './CodeTab.tsx'
import { RawEvents } from './RawEvents.tsx'
import { firstChoice, type ModelChoice, modelChoices } from './settings/ModelFields.tsx'
import { FIRST_SETTINGS } from './settings/play-settings.ts'
import { RequestSettings } from './settings/RequestSettings.tsx'
import { TalkTab } from './talk/TalkTab.tsx'
import { useConversation } from './turn/useConversation.ts'

export function PlaygroundPage() {
  const { common, shell, playground } = useWords()
  const models = useModels()
  const { model: wanted } = useSearch({ strict: false }) as { model?: string }
  if (models.data === undefined || models.data.items.length === 0) {
    return (
      <Page>
        <PageHeader title={shell.areas.playground} about={playground.about} />
        <Panel>
          <Answer question={models} lines={6}>
            {() => (
              <Empty
                icon={Boxes}
                title={playground.noModels}
                text={playground.noModelsText}
                action={<Button onClick={() => void models.refetch()}>{common.retry}</Button>}
              />
            )}
          </Answer>
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

type Tab = 'talk' | 'raw' | 'code'

/** The conversation on one side, everything else of the request on the other. */
function Playground({ choices, first, firstKinds }: PlaygroundProps) {
  const { shell, playground } = useWords()
  const [settings, setSettings] = useState({
    ...FIRST_SETTINGS,
    model: first,
    pays: firstKinds.includes('wallet') ? FIRST_SETTINGS.pays : (firstKinds[0] ?? FIRST_SETTINGS.pays),
  })
  const [tab, setTab] = useState<Tab>('talk')
  const [open, setOpen] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const talk = useConversation(settings, field)
  usePlayKeys({
    running: talk.running,
    onStop: talk.stop,
    onSend: () => {
      setTab('talk')
      talk.send()
    },
  })
  return (
    <Page>
      <PageHeader
        title={shell.areas.playground}
        about={playground.about}
        actions={
          <>
            <Button className="lg:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
              <SlidersHorizontal aria-hidden="true" />
              {playground.showRequest}
            </Button>
            <Button disabled={talk.said.length === 0} onClick={talk.clear}>
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
            label={shell.areas.playground}
            value={tab}
            onPick={setTab}
            tabs={[
              {
                value: 'talk',
                label: playground.tabs.talk,
                content: <TalkTab talk={talk} field={field} onTools={(tools) => setSettings({ ...settings, tools })} />,
              },
              { value: 'raw', label: playground.tabs.raw, content: <RawEvents raw={talk.run?.raw} /> },
              {
                value: 'code',
                label: playground.tabs.code,
                content: <CodeTab settings={settings} body={talk.next} />,
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

/** Ctrl+Enter sends from wherever one writes, Esc stops. */
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
      // A form, such as that for the results of calls, is sent as it is.
      const form = event.target instanceof Element ? event.target.closest('form') : null
      if (form === null) onSend()
      else form.requestSubmit()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}
