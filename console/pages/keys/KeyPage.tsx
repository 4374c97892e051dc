import { Link, useParams } from '@tanstack/react-router'
import { KeyRound, RefreshCw, SquarePen } from 'lucide-react'
import { useState } from 'react'
import { ConsoleProblem } from '../../lib/console-problem.ts'
import { useKey } from '../../questions/useKey.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { KeyBadges, KeyStateBadge } from './KeyBadges.tsx'
import { KeyCaps } from './KeyCaps.tsx'
import { KeyDialogs } from './KeyDialogs.tsx'
import { KeyMenu } from './KeyMenu.tsx'
import { KeyRequests } from './KeyRequests.tsx'
import { KeyTerms } from './KeyTerms.tsx'
import { KeyTrail } from './KeyTrail.tsx'
import { KeyUsage } from './KeyUsage.tsx'
import { MadeKeyDialog } from './MadeKeyDialog.tsx'
import type { OwnKey, PickedAct } from './own-key.ts'
import { useMadeKey } from './useMadeKey.ts'

/** Everything about one key. */
export function KeyPage() {
  const { shell } = useWords()
  const { key = '' } = useParams({ strict: false })
  const question = useKey(key)
  if (question.error instanceof ConsoleProblem && question.error.code === 'key_not_found') return <NoSuchKey />
  if (question.data !== undefined) return <KnownKey keyItem={question.data} />
  return (
    <Page>
      <PageHeader title={shell.areas.keys} />
      <Panel padding="flush">
        <Answer question={question} lines={8}>
          {() => null}
        </Answer>
      </Panel>
    </Page>
  )
}

function KnownKey({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useWords()
  const [picked, setPicked] = useState<PickedAct | undefined>()
  const { made, show, drop } = useMadeKey()
  const isOver = keyItem.state === 'revoked'
  return (
    <Page>
      <PageHeader
        title={keyItem.name}
        about={<Standing keyItem={keyItem} />}
        actions={<KeyButtons keyItem={keyItem} onAct={setPicked} />}
      />
      {!(isOver && keyItem.caps.length === 0) && (
        <Panel title={keys.caps}>
          <KeyCaps caps={keyItem.caps} as="long" />
        </Panel>
      )}
      <KeyUsage keyId={keyItem.id} isOver={isOver} />
      <KeyTerms keyItem={keyItem} />
      <KeyRequests keyId={keyItem.id} isOver={isOver} />
      <KeyTrail keyId={keyItem.id} />
      <KeyDialogs
        picked={picked}
        onClose={() => setPicked(undefined)}
        onRotated={(next) => {
          show(next)
          setPicked(undefined)
        }}
      />
      {made !== undefined && <MadeKeyDialog made={made} onStored={drop} />}
    </Page>
  )
}

function Standing({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useWords()
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1 pt-1">
      <KeyStateBadge state={keyItem.state} />
      <KeyBadges keyItem={keyItem} />
      {keyItem.playground ? (
        <span className="text-sm">{keys.playgroundHint}</span>
      ) : (
        <code className="text-sm">{keyItem.shown}</code>
      )}
    </span>
  )
}

function KeyButtons({ keyItem, onAct }: { keyItem: OwnKey; onAct: (picked: PickedAct) => void }) {
  const { keys } = useWords()
  if (keyItem.state === 'revoked') return null
  return (
    <>
      <Button onClick={() => onAct({ act: 'edit', key: keyItem })}>
        <SquarePen aria-hidden="true" />
        {keys.edit}
      </Button>
      {!keyItem.playground && (
        <Button onClick={() => onAct({ act: 'rotate', key: keyItem })}>
          <RefreshCw aria-hidden="true" />
          {keys.rotate}
        </Button>
      )}
      <KeyMenu keyItem={keyItem} onAct={onAct} />
    </>
  )
}

function NoSuchKey() {
  const { shell, keys } = useWords()
  const back = (
    <Link to="/keys" className={buttonClass('primary')}>
      {keys.toKeys}
    </Link>
  )
  return (
    <Page>
      <PageHeader title={shell.areas.keys} />
      <Panel>
        <Empty icon={KeyRound} title={keys.gone} text={keys.goneText} action={back} />
      </Panel>
    </Page>
  )
}
