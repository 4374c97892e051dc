import { Link, useParams } from '@tanstack/react-router'
import { KeyRound, RefreshCw, SquarePen } from 'lucide-react'
import { useState } from 'react'
import { ConsoleProblem } from '../../lib/console-problem.ts'
import { useAudit } from '../../questions/account.ts'
import { useKey } from '../../questions/keys.ts'
import { useKeyRequests } from '../../questions/requests.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AuditPanel } from '../audit/AuditPanel.tsx'
import { LatestRequests } from '../requests/list/LatestRequests.tsx'
import { KeyDialogs } from './acts/KeyDialogs.tsx'
import { MadeKeyDialog, useMadeKey } from './acts/MadeKeyDialog.tsx'
import { KeyBadges, KeyStateBadge } from './KeyBadges.tsx'
import { KeyCaps } from './KeyCaps.tsx'
import { KeyMenu } from './KeyMenu.tsx'
import { KeyTerms } from './KeyTerms.tsx'
import { KeyUsage } from './KeyUsage.tsx'
import type { OwnKey, PickedAct } from './own-key.ts'

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

const SHOWN = 10

interface KeyRequestsProps {
  readonly keyId: string
  /** It is revoked: no first one will arrive. */
  readonly isOver: boolean
}

/** The last few requests of a key, as they come in. */
function KeyRequests({ keyId, isOver }: KeyRequestsProps) {
  const { keys } = useWords()
  const question = useKeyRequests(keyId, SHOWN)
  const all = (
    <Link to="/requests" search={{ key: keyId }} className={buttonClass('quiet')}>
      {keys.allRequests}
    </Link>
  )
  const connect = (
    <Link to="/connect" className={buttonClass('plain')}>
      {keys.connect}
    </Link>
  )
  return (
    <Panel title={keys.recent} actions={all} padding="flush">
      <Answer question={question} lines={5}>
        {({ items }) => (
          <LatestRequests
            caption={keys.recent}
            requests={items}
            without={['key']}
            none={{ title: keys.noRequests, ...(!isOver && { text: keys.noRequestsText, action: connect }) }}
          />
        )}
      </Answer>
    </Panel>
  )
}

/** Who made this key, and what was done to it since. */
function KeyTrail({ keyId }: { keyId: string }) {
  const { keys } = useWords()
  const question = useAudit(keyId)
  return <AuditPanel title={keys.trail} question={question} of="one" />
}
