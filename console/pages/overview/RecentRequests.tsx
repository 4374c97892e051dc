import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../ui/Button.tsx'
import { Answer, type Asked, Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { LatestRequests } from '../requests/LatestRequests.tsx'
import type { Standing } from './StandingTiles.tsx'

/** The latest requests of the account. */
export function RecentRequests({ question }: { question: Asked<Standing> }) {
  const { overview: words } = useWords()
  return (
    <Panel
      title={words.recent}
      padding="flush"
      actions={
        <Link to="/requests" className="text-sm text-accent hover:underline">
          {words.moreRequests}
        </Link>
      }
    >
      <Answer question={question} lines={8}>
        {({ recent }) => (
          <LatestRequests
            caption={words.recent}
            requests={recent}
            none={{
              title: words.noRecent.title,
              text: words.noRecent.text,
              action: (
                <Link to="/connect" className={buttonClass('plain')}>
                  {words.noRecent.action}
                </Link>
              ),
            }}
          />
        )}
      </Answer>
    </Panel>
  )
}
