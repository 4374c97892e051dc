import { Plus, SlidersHorizontal } from 'lucide-react'
import { useRef, useState } from 'react'
import { cx } from '../../lib/cx.ts'
import { Button } from '../../ui/Button.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { CodeTab } from './CodeTab.tsx'
import { FIRST_SETTINGS } from './play-settings.ts'
import type { ModelChoice, ModelItem } from './played-model.ts'
import { RawEvents } from './RawEvents.tsx'
import { RequestSettings } from './RequestSettings.tsx'
import { TalkTab } from './TalkTab.tsx'
import { useConversation } from './useConversation.ts'
import { usePlayKeys } from './usePlayKeys.ts'

interface PlaygroundProps {
  readonly choices: readonly ModelChoice[]
  readonly first: string
  readonly firstKinds: ModelItem['kinds']
}

type Tab = 'talk' | 'raw' | 'code'

/** The conversation on one side, everything else of the request on the other. */
export function Playground({ choices, first, firstKinds }: PlaygroundProps) {
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
