import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isServerReachable } from '../lib/api-client.ts'
import { hasCode } from '../lib/console-problem.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button, buttonClass } from '../ui/Button.tsx'
import { Empty, Page, PageHeader } from '../ui/layout.tsx'
import { ProblemNote } from '../ui/QueryView.tsx'

export function NotFound() {
  const { notFound } = useMessages().shell
  return (
    <Page>
      <PageHeader title={notFound.title} />
      <Empty
        title={notFound.text}
        action={
          <Link to="/" className={buttonClass('primary')}>
            {notFound.back}
          </Link>
        }
      />
    </Page>
  )
}

/** A reload fixes both a page that threw and one whose files were replaced by an upgrade. */
export function PageFailed({ error }: { error: unknown }) {
  const { problems } = useMessages()
  const [state, setState] = useState<'idle' | 'loading' | 'away'>('idle')
  const reload = async () => {
    setState('loading')
    if (await isServerReachable()) location.reload()
    else setState('away')
  }
  return (
    <div className="grid gap-4 p-4">
      <PageHeader title={problems.title} {...(!hasCode(error, 'part_lost') && { about: problems.pageFailed })} />
      <ProblemNote error={error} />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button tone="primary" busy={state === 'loading'} onClick={() => void reload()}>
          {problems.reload}
        </Button>
        <p role="status">{state === 'away' && problems.stillAway}</p>
      </div>
    </div>
  )
}
