// Runs before the first paint, so that nobody who chose dark sees a white flash. The reader of record is lib/preferences.ts.
;(() => {
  const root = document.documentElement
  let theme = 'system'
  try {
    theme = JSON.parse(localStorage.getItem('millrace.console') || '{}').theme || theme
  } catch {
    // Without storage the system decides.
  }
  const dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = dark ? 'dark' : 'light'
})()

// When a file of the app cannot be loaded, because it or the server is gone, the page itself shows a message.
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

/** Once the app runs, its pages report what is missing. */
function showNotLoaded() {
  const notLoaded = document.getElementById('not-loaded')
  if (notLoaded) notLoaded.hidden = false
}

/** Reloads only if the server answers: otherwise the browser would show its own error page. */
function loadAnew() {
  fetch('/console/', { method: 'HEAD' }).then(
    ({ ok }) => ok && location.reload(),
    () => {},
  )
}
