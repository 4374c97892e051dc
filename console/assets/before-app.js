// Runs before the first paint so that dark mode does not flash white. The same preference is read in
// lib/preferences.ts.
;(() => {
  const root = document.documentElement
  let theme = 'system'
  try {
    theme = JSON.parse(localStorage.getItem('millrace.console') || '{}').theme || theme
  } catch {
    // Without storage the system setting applies.
  }
  const dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = dark ? 'dark' : 'light'
})()

// The frame of the page is painted before the app and its styles have arrived. A sheet of the script, because the content
// security policy forbids inline styles; the colours are those of ui/tokens.css, as the build writes them.
const frame = new CSSStyleSheet()
frame.replaceSync(`
  :root { background: lab(97.9409% -1.09848 -.882578); color: #1a2a30; --frame: #dfe6e8 }
  :root[data-theme='dark'] { background: lab(5.83315% -1.66836 -3.27895); color: #eaf0f2; --frame: #273238 }
  #first-frame { display: grid; min-height: 100vh; font: 600 1rem/1.5 system-ui, sans-serif; margin: -8px }
  #first-frame header { padding: 1rem; border-bottom: 1px solid var(--frame) }
  #first-frame section { display: grid; gap: 1rem; align-content: start; padding: 2rem 1.5rem }
  #first-frame section > * { height: 6rem; border-radius: .5rem; background: var(--frame); opacity: .5 }
  #first-frame b { height: 2rem !important; width: 12rem }
  @media (min-width: 48rem) {
    #first-frame { grid-template-columns: 15rem 1fr }
    #first-frame header { border: 0; border-inline-end: 1px solid var(--frame) }
  }
  [data-frame='bare'] #first-frame { grid-template-columns: 1fr; align-content: center; text-align: center }
  [data-frame='bare'] #first-frame header { border: 0 }
  [data-frame='bare'] #first-frame section { display: none }`)
document.adoptedStyleSheets = [frame]
// Pages without navigation.
if (/\/console\/(sign-in|setup)/.test(location.pathname)) document.documentElement.dataset.frame = 'bare'

// Shows the static error message of the page when a file of the app cannot be loaded.
addEventListener(
  'error',
  ({ target }) => {
    const isOfApp = target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel !== 'icon')
    if (!isOfApp) return
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', showNotLoaded)
    else showNotLoaded()
  },
  true,
)
addEventListener('DOMContentLoaded', () => {
  document.querySelector('#not-loaded button').addEventListener('click', loadAnew)
})

/** Works only until the app has started. After that, pages report missing files themselves. */
function showNotLoaded() {
  const notLoaded = document.getElementById('not-loaded')
  if (!notLoaded) return
  notLoaded.hidden = false
  document.getElementById('first-frame')?.remove()
}

/** Reloads only if the server responds, because the browser's own error page has no way back. */
function loadAnew() {
  fetch(location.pathname, { method: 'HEAD' }).then(
    ({ ok }) => ok && location.reload(),
    () => {},
  )
}
