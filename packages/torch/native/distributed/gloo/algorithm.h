// libtorch's wheels have Gloo's code and not its headers. ProcessGroupGloo.hpp includes five; these declare what its
// declarations need, and define nothing. A libtorch with Gloo's own headers comes first on the include path.
#pragma once
