import { defineConfig } from 'vite'

export default defineConfig({
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2023',
    rolldownOptions: {
      // Libraries mark modules for servers that render; here there is none.
      onLog: (level, log, report) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log)
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:7400' } },
})
