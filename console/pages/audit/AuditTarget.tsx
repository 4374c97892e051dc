import { Link } from '@tanstack/react-router'

interface AuditTargetProps {
  readonly target: string
  readonly of: 'own' | 'all'
}

const LOOK = 'inline-block max-w-44 truncate align-bottom font-mono text-xs'

/** The id of what was touched; a link where there is a page for it. */
export function AuditTarget({ target, of }: AuditTargetProps) {
  const look = `${LOOK} text-accent hover:underline`
  if (of === 'all' && target.startsWith('acct_')) {
    return (
      <Link to="/operate/accounts/$account" params={{ account: target }} title={target} className={look}>
        {target}
      </Link>
    )
  }
  if (of === 'own' && target.startsWith('key_')) {
    return (
      <Link to="/keys/$key" params={{ key: target }} title={target} className={look}>
        {target}
      </Link>
    )
  }
  return (
    <span title={target} className={LOOK}>
      {target}
    </span>
  )
}
