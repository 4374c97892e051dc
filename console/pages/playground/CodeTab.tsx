import { useState } from 'react'
import type { PlaygroundTurn } from '../../lib/api-client.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useSession } from '../../queries/session.ts'
import { CodeBlock } from '../../ui/CopyButton.tsx'
import { choicesOf, Segmented } from '../../ui/inputs.tsx'
import { type CodeLanguage, codeFor } from './code-for.ts'
import type { PlaySettings } from './play-settings.ts'

const LANGUAGES: readonly CodeLanguage[] = ['curl', 'python', 'node']

export function CodeTab({ settings, body }: { settings: PlaySettings; body: PlaygroundTurn['body'] | undefined }) {
  const { playground } = useMessages()
  const { session } = useSession()
  const [language, setLanguage] = useState<CodeLanguage>('curl')
  if (body === undefined) return <p className="py-6 text-center text-soft">{playground.codeNothing}</p>
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-soft">
          {playground.codeAbout} {settings.pays === 'wallet' ? playground.codeWallet : playground.codeBuilder}
        </p>
        <Segmented
          label={playground.tabs.code}
          value={language}
          options={choicesOf(LANGUAGES, playground.languages)}
          onPick={setLanguage}
        />
      </div>
      <CodeBlock
        label={playground.languages[language]}
        code={codeFor(language, { protocol: settings.protocol, baseUrl: session.base_url, body })}
      />
    </div>
  )
}
